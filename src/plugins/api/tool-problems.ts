import { LONGEST_TIMER_MS } from '../../common/longest-timer.ts';
import { NATIVE_DIALECT, VARIABLE } from './plugin-details.ts';
import { shownId } from './read-plugin-definition.ts';
import type { Permissions, Tool, ToolAnnotations, ToolKind } from './tool.ts';

const TOOL_ID = /^[A-Za-z0-9_.-]{1,80}$/;

/** What makes the tools of a plugin unusable, and how to correct it. */
export function problemOfTools(tools: Tool[], dialect = NATIVE_DIALECT): [problem: string, fix: string] | undefined {
  const fix = dialect === NATIVE_DIALECT ? 'Make each tool with defineTool({ id, description, parameters, execute })' : 'Correct that tool';
  const seen = new Set<string>();
  for (const tool of tools) {
    const problem = problemOfTool(tool);
    if (problem) return [problem, fix];
    if (seen.has(tool.id)) return [`two tools have the id "${tool.id}"`, 'Rename one'];
    seen.add(tool.id);
  }
  return undefined;
}

function problemOfTool(tool: Partial<Tool> | undefined | null): string | undefined {
  if (typeof tool?.id !== 'string' || !TOOL_ID.test(tool.id)) {
    return `the tool id ${tool?.id === undefined ? '(none)' : shownId(tool.id)} is not usable; letters, digits, _, - and . are, 80 at most`;
  }
  const [problem] = CHECKS.find(([, holds]) => !holds(tool)) ?? [];
  return problem && `tool "${tool.id}" ${problem}`;
}

const KINDS: Record<ToolKind, true> = { tool: true, agent: true, behavior: true, multimodal_agent: true };

/** Each check, with the problem that is reported if it does not hold. */
const CHECKS: [problem: string, holds: (tool: Partial<Tool>) => boolean][] = [
  ['has no description, so a model cannot know when to call it', ({ description }) => typeof description === 'string' && description.trim() !== ''],
  ['has no execute function', ({ execute }) => typeof execute === 'function'],
  ['has parameters that are not the JSON Schema of an object ("type": "object")', ({ parameters }) => parameters?.['type'] === 'object'],
  [
    `has a timeoutMs that is not a number above 0, of ${LONGEST_TIMER_MS} at most`,
    ({ timeoutMs }) => typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= LONGEST_TIMER_MS,
  ],
  ['was not made by defineTool', ({ kind, annotations, isolation }) => Boolean(kind && annotations && isolation)],
  ['has the isolation own, which only Longshore can give', ({ isolation, ownSandbox }) => isolation !== 'own' || typeof ownSandbox?.open === 'function'],
  ['has a kind that is none of tool, agent, behavior and multimodal_agent', ({ kind = 'tool' }) => Object.hasOwn(KINDS, kind)],
  ['has a visibility that is none of visible, deferred and hidden', ({ visibility = 'visible' }) => ['visible', 'deferred', 'hidden'].includes(visibility)],
  ['has a brief that is not a text', ({ brief }) => typeof (brief ?? '') === 'string'],
  ['has a requireApproval that is neither true nor false', ({ requireApproval }) => typeof (requireApproval ?? false) === 'boolean'],
  ['has annotations that are not usable; the title is a text, and the hints are true or false', ({ annotations = {} }) => areHints(annotations)],
  [
    'has permissions that are not usable; network takes exact host names, env names of variables, fs absolute paths, time and random true or false, and there are no others',
    ({ permissions = {} }) => areUsable(permissions) && areKnown(permissions),
  ],
];

function areHints(annotations: ToolAnnotations): boolean {
  const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  const hints = [readOnlyHint, destructiveHint, idempotentHint, openWorldHint];
  return typeof (title ?? '') === 'string' && hints.every((hint) => typeof (hint ?? false) === 'boolean');
}

export const HOST_NAME = /^(?=.{1,253}(:|$))[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:\d{1,5})?$/i;

function areUsable(permissions: Permissions): boolean {
  if (permissions === null || typeof permissions !== 'object') return false;
  const { network = [], env = [], fs = [], time = false, random = false } = permissions;
  if (typeof time !== 'boolean' || typeof random !== 'boolean') return false;
  const fit = (list: unknown, pattern: RegExp) => Array.isArray(list) && list.every((item) => typeof item === 'string' && pattern.test(item));
  return fit(network, HOST_NAME) && fit(env, VARIABLE) && fit(fs, /^\//);
}

/** Otherwise a misspelt permission would be ignored without notice. */
function areKnown(permissions: Permissions): boolean {
  return Object.keys(permissions).every((name) => ['network', 'env', 'fs', 'time', 'random'].includes(name));
}
