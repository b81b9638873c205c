import type { DeferOptions } from '../../contracts/prompts/prompt-options.ts';
import { PLAN_TOOL } from '../../contracts/plan/plan.ts';
import { SKILL_TOOL } from '../../contracts/skills/skill.ts';
import { MEMORY_PLUGIN } from '../../contracts/memory/memory.ts';
import { RECALL_TOOL, type StoredEntry } from '../../contracts/transcript.ts';
import { foundIn, SEARCH_TOOL } from '../builtin/tools.ts';
import { matchesPattern } from '../../common/match-pattern.ts';
import type { RegisteredTool, Registry } from '../registry/registry.ts';

export interface ShownTools {
  /** With their schemas. */
  tools: RegisteredTool[];
  /** Text for the instructions about the tools that are not shown; undefined if all are shown. */
  briefs: string | undefined;
}

const MAX_BRIEF_LENGTH = 160;
/** Tools of Longshore that a model would not search for. */
const ALWAYS_SHOWN = new Set([RECALL_TOOL, PLAN_TOOL, SKILL_TOOL]);

/**
 * Divides the tools of a conversation into those that the model is shown and those that it has to search for. A deferred tool is shown after the transcript
 * has a search that found it or a call of it. A plugin with its own brief is deferred as a whole and shown as a whole.
 */
export function showTools(request: { registry: Registry; available: RegisteredTool[]; deferTools: DeferOptions; transcript: StoredEntry[] }): ShownTools {
  const { registry, available, deferTools, transcript } = request;
  const search = available.find(({ id }) => id === SEARCH_TOOL);
  const always = available.filter(({ id }) => ALWAYS_SHOWN.has(id));
  const known = available.filter((tool) => tool !== search && !always.includes(tool) && tool.visibility !== 'hidden');
  const deferred = search ? known.filter((tool) => isDeferred(tool, deferTools, known.length)) : [];
  if (!search || deferred.length === 0) return { tools: [...known, ...always], briefs: undefined };
  const awake = awakeIn(transcript, registry);
  const asleep = deferred.filter(({ id, pluginId }) => !awake.has(id) && !awake.has(pluginId));
  const tools = [...known.filter((tool) => !asleep.includes(tool)), ...always, search];
  return { tools, briefs: asleep.length === 0 ? undefined : describe(asleep, registry, search) };
}

function isDeferred(tool: RegisteredTool, { over, pin }: DeferOptions, count: number): boolean {
  // The instructions name the tools of a memory.
  if (tool.pluginId === MEMORY_PLUGIN || pin.some((pattern) => matchesPattern(pattern, tool.id))) return false;
  return tool.visibility === 'deferred' || count > over;
}

/** Ids of the tools that were found or called, and of the plugins with a brief that they belong to. */
function awakeIn(transcript: StoredEntry[], registry: Registry): Set<string> {
  const ids = transcript.flatMap(({ entry }) => {
    if (entry.role === 'assistant') return entry.parts.flatMap((part) => (part.type === 'tool-call' ? [part.tool] : []));
    return entry.role === 'tool' && entry.tool === SEARCH_TOOL && !entry.isError ? foundIn(entry.content) : [];
  });
  const awake = new Set(ids);
  for (const id of ids) {
    const pluginId = registry.get(id)?.pluginId;
    if (pluginId !== undefined && registry.plugin(pluginId)?.brief !== undefined) awake.add(pluginId);
  }
  return awake;
}

function describe(asleep: RegisteredTool[], registry: Registry, search: RegisteredTool): string {
  const lines = new Set(asleep.map((tool) => lineOf(tool, asleep, registry)));
  return `There are more tools than are shown. Find them with ${search.alias}; those it finds can be called from your next step on.\n${[...lines].join('\n')}`;
}

/** All tools of a deferred plugin have the same line. */
function lineOf(tool: RegisteredTool, asleep: RegisteredTool[], registry: Registry): string {
  const brief = registry.plugin(tool.pluginId)?.brief;
  if (brief === undefined) return `- ${tool.id}: ${briefOf(tool)}`;
  const count = asleep.filter(({ pluginId }) => pluginId === tool.pluginId).length;
  return `- ${tool.pluginId} (${count} ${count === 1 ? 'tool' : 'tools'}): ${toLine(brief)}`;
}

export function briefOf({ brief, description }: Pick<RegisteredTool, 'brief' | 'description'>): string {
  return toLine(brief ?? description.split('\n')[0] ?? '');
}

function toLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= MAX_BRIEF_LENGTH ? line : `${line.slice(0, MAX_BRIEF_LENGTH - 1)}…`;
}
