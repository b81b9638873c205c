import { z } from 'zod';
import type { JsonObject } from '../../contracts/json.ts';
import { saidIn, type StoredEntry, type TranscriptEntry } from '../../contracts/transcript.ts';
import type { ModelTool } from '../../models/model.ts';
import type { RegisteredTool } from '../../plugins/registry/registry.ts';
import { resultTextOf } from '../results/tool-result.ts';
import { withSaid } from './change-answer.ts';
import { digestOf, type StepHooks } from './step-hooks.ts';

/** What the model is about to be asked. */
export interface Asked {
  instructions: string;
  tools: ModelTool[];
  shown: StoredEntry[];
}

/** Plugins see the newest messages of a prompt, as many as fit. */
const MOST_CHARACTERS = 300_000;
const MOST_MESSAGES = 500;

const changedSchema = z.looseObject({
  instructions: z.string().max(2 * MOST_CHARACTERS),
  messages: z.array(z.looseObject({ role: z.string(), text: z.string().max(2 * MOST_CHARACTERS), seq: z.int().nullable() })).max(2 * MOST_MESSAGES),
  tools: z.array(z.looseObject({ name: z.string(), description: z.string().max(20_000) })).max(10_000),
});

/** Lets plugins change what the model is asked: texts, instructions, and which of its tools it is shown. */
export async function changePrompt(hooks: StepHooks, stepId: string, asked: Asked, available: RegisteredTool[]): Promise<Asked> {
  if (!hooks.has('asking')) return asked;
  const names = namesOf(asked.tools, available);
  const given = givenOf(asked.shown);
  const value: JsonObject = {
    instructions: asked.instructions,
    messages: given.map(({ entry }, index) => ({ seq: index + 1, role: ROLES[entry.role], text: textOf(entry) })),
    tools: asked.tools.map(({ name, description, parameters }) => ({ name: names.get(name) ?? name, description, parameters })),
  };
  const { value: answer, sent } = await hooks.run('asking', { id: stepId, digest: digestOf(value) }, value);
  await hooks.send(sent);
  const changed = changedSchema.safeParse(answer);
  if (!changed.success) return asked;
  const { instructions, messages, tools } = changed.data;
  const described = new Map(tools.map(({ name, description }) => [name, description]));
  const kept = asked.tools.flatMap((tool) => {
    const description = described.get(names.get(tool.name) ?? tool.name);
    return description === undefined ? [] : [{ ...tool, description }];
  });
  return { instructions, tools: kept, shown: entriesAfter(asked.shown, given, messages) };
}

const ROLES: Record<TranscriptEntry['role'], string> = { user: 'user', note: 'user', assistant: 'assistant', tool: 'tool' };

/** Plugins know tools by the names within their plugins, where only one tool has the name. Found by the name that the model knows, and by the full id. */
export function namesOf(tools: readonly Pick<ModelTool, 'name' | 'tool'>[], available: readonly RegisteredTool[]): Map<string, string> {
  const local = new Map(available.map(({ id, pluginId }) => [id, id.slice(pluginId.length + 1)]));
  const all = tools.map(({ tool }) => local.get(tool) ?? tool);
  return new Map(
    tools.flatMap(({ name, tool }) => {
      const own = local.get(tool);
      const shown = own !== undefined && all.filter((each) => each === own).length === 1 ? own : name;
      return [[name, shown] as const, [tool, shown] as const];
    }),
  );
}

function givenOf(shown: readonly StoredEntry[]): StoredEntry[] {
  const given: StoredEntry[] = [];
  let characters = 0;
  for (const stored of shown.toReversed()) {
    characters += textOf(stored.entry).length;
    if (characters > MOST_CHARACTERS || given.length === MOST_MESSAGES) break;
    given.unshift(stored);
  }
  return given;
}

type ChangedMessages = z.infer<typeof changedSchema>['messages'];

/**
 * The entries with changed texts, without those that were left out, and with what was added after those that it was put behind. Plugins know each by its place: a
 * summary has the number of the last entry that it stands for, which may be shown beside it.
 */
function entriesAfter(shown: readonly StoredEntry[], given: readonly StoredEntry[], messages: ChangedMessages): StoredEntry[] {
  const texts = new Map(messages.flatMap(({ seq, text }) => (seq === null ? [] : [[seq, text] as const])));
  const added = new Map<number, string[]>();
  let after = 0;
  for (const { seq, text } of messages) {
    if (seq !== null) after = seq;
    else if (text.trim() !== '') added.set(after, [...(added.get(after) ?? []), text]);
  }
  const notesAt = (place: number, { seq, turnId, at }: StoredEntry): StoredEntry[] =>
    (added.get(place) ?? []).map((text) => ({ seq, turnId, at, entry: { role: 'note', text } }));
  const older = shown.slice(0, shown.length - given.length);
  const nearest = older.at(-1) ?? (given[0] && { ...given[0], seq: 0 });
  return [
    ...older,
    ...(nearest ? notesAt(0, nearest) : []),
    ...given.flatMap((stored, index) => {
      const text = texts.get(index + 1);
      const isLast = index === given.length - 1;
      if (text === undefined && mayBeLeftOut(stored.entry) && !isLast) return notesAt(index + 1, stored);
      return [text === undefined ? stored : { ...stored, entry: withText(stored.entry, text) }, ...notesAt(index + 1, stored)];
    }),
  ];
}

/** A call and its result belong together. */
function mayBeLeftOut(entry: TranscriptEntry): boolean {
  return entry.role !== 'tool' && !(entry.role === 'assistant' && entry.parts.some(({ type }) => type === 'tool-call'));
}

function textOf(entry: TranscriptEntry): string {
  if (entry.role === 'note') return entry.text;
  if (entry.role === 'assistant') return saidIn(entry);
  return entry.role === 'tool' ? resultTextOf(entry.content) : entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function withText(entry: TranscriptEntry, text: string): TranscriptEntry {
  if (text === textOf(entry)) return entry;
  if (entry.role === 'note') return { ...entry, text };
  if (entry.role === 'assistant') return { ...entry, parts: withSaid(entry.parts, text) };
  return { ...entry, content: [{ type: 'text', text }, ...entry.content.filter(({ type }) => type !== 'text')] };
}
