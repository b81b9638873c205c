import type { ConversationEvent } from '../../src/contracts/events.ts';
import { saidIn, type ContentPart, type StoredEntry } from '../../src/contracts/transcript.ts';
import type { ToolCallState } from '../../src/store/tool-call-rows.ts';
import type { Kind, Step, Turn } from './kinds/kinds.ts';
import type { Problem, Rule } from './verdict.ts';

/** A call as the ledger has it. */
export interface LedgerCall {
  callId: string;
  tool: string;
  state: ToolCallState;
}

/** All that is known of a conversation that has ended. */
export interface Ended {
  kind: Kind;
  /** The number of its turns that it has from the conversation that it is a fork of. */
  inherited?: number;
  entries: StoredEntry[];
  events: ConversationEvent[];
  /** The events that its reader got; absent without a reader. */
  read?: ConversationEvent[];
  calls: LedgerCall[];
  /** Number of requests that the counter got for a call. */
  counted: (callId: string) => number;
  /** Whether a client has run the call. */
  isServed: (callId: string) => boolean;
}

/** The tool that may not be repeated: after a fault in its call, it is unknown whether it has taken effect. */
export const ONCE = 'chaos:once';
const FINAL: readonly ToolCallState[] = ['finished', 'unknown'];

/** Everything about a conversation that breaks a rule. */
export function problemsOf(ended: Ended): Problem[] {
  return [...ofTranscript(ended), ...ofResults(ended), ...ofMarks(ended), ...ofCounter(ended), ...ofEvents(ended), ...ofReader(ended)];
}

const broken = (rule: Rule, what: string): Problem => ({ rule, what });

function ofTranscript({ kind, inherited = 0, entries }: Ended): Problem[] {
  const expected = standing(kind.turns).flatMap(({ message, steps }) => [`user: ${message}`, ...steps.flatMap(linesOfStep)]);
  const found = entries.filter(({ rewound, entry }) => !rewound && !(inherited > 0 && isOfFork(entry))).map(({ entry }) => lineOf(entry));
  // Results of the calls of one step come in any order.
  return sortedRuns(found).join('\n') === sortedRuns(expected).join('\n') ? [] : [broken('transcript', `it reads ${JSON.stringify(found)}`)];
}

/** The turns that no rewind has taken back. */
function standing(turns: Turn[]): Turn[] {
  return turns.reduce<Turn[]>((before, turn) => [...(turn.rewinds ? before.slice(0, 1) : before), turn], []);
}

/** The note of a fork about its sandbox. */
function isOfFork(entry: StoredEntry['entry']): boolean {
  return entry.role === 'note' && entry.text.startsWith('This conversation goes on from here as a fork of another one');
}

function linesOfStep({ say = '', calls = [] }: Step): string[] {
  return [`assistant: ${say} [${calls.map(({ call }) => call).join()}]`, ...calls.map(({ call }) => `tool: ${call}`)];
}

function lineOf(entry: StoredEntry['entry']): string {
  if (entry.role === 'user') return `user: ${textOf(entry.content)}`;
  if (entry.role === 'tool') return `tool: ${entry.tool}`;
  if (entry.role === 'note') return `note: ${entry.text}`;
  return `assistant: ${saidIn(entry)} [${entry.parts.flatMap((part) => (part.type === 'tool-call' ? [part.tool] : [])).join()}]`;
}

/** Puts neighbouring results into one order. */
function sortedRuns(lines: string[]): string[] {
  const runs = lines.reduce<string[][]>((before, line) => {
    const run = before.at(-1);
    if (run && line.startsWith('tool: ') && run[0]?.startsWith('tool: ') === true) run.push(line);
    else before.push([line]);
    return before;
  }, []);
  return runs.flatMap((run) => run.toSorted());
}

/** The transcript has one result for each call of the model, and the ledger a final state for each call, those of code included. */
function ofResults({ entries, calls }: Ended): Problem[] {
  const asked = entries.flatMap(({ entry }) =>
    entry.role === 'assistant' ? entry.parts.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])) : [],
  );
  const results = entries.flatMap(({ entry }) => (entry.role === 'tool' ? [entry] : []));
  const count = (callId: string) => results.filter((result) => result.callId === callId).length;
  const unequal = asked.filter((callId) => count(callId) !== 1).map((callId) => broken('result', `${callId} has ${count(callId)} results`));
  const strange = results
    .filter(({ callId }) => !asked.includes(callId))
    .map(({ callId }) => broken('result', `there is a result of ${callId}, and no such call was made`));
  const failed = results
    .filter(({ tool, isError }) => isError && tool !== ONCE)
    .map(({ callId, tool, content }) => broken('lost', `${tool} (${callId}) failed: ${textOf(content)}`));
  const states = calls.flatMap(({ callId, tool, state }) => {
    if (!FINAL.includes(state)) return [broken('result', `${tool} (${callId}) is ${state} in the ledger`)];
    return state === 'unknown' && tool !== ONCE ? [broken('lost', `it is unknown whether ${tool} (${callId}) has taken effect`)] : [];
  });
  return [...unequal, ...strange, ...failed, ...states];
}

/** Each command has left its line once. */
function ofMarks({ kind, entries }: Ended): Problem[] {
  if (kind.marks.length === 0) return [];
  const lines = linesShownLast(entries);
  if (lines === undefined) return [broken('lost', `its file cannot be read: ${lastResult(entries)}`)];
  return compare(kind.marks, lines).map(([rule, mark]) => broken(rule, `the line "${mark}" of ${JSON.stringify(lines)}`));
}

function lastResult(entries: StoredEntry[]): string {
  const last = entries.findLast(({ entry }) => entry.role === 'tool')?.entry;
  return last?.role === 'tool' ? textOf(last.content) : '';
}

/** The lines of the file that the last call shows; undefined when it does not. */
export function linesShownLast(entries: StoredEntry[]): string[] | undefined {
  try {
    const { exitCode, stdout } = JSON.parse(lastResult(entries)) as { exitCode?: number; stdout?: string };
    return exitCode === 0 && typeof stdout === 'string' ? stdout.split('\n').filter((line) => line !== '') : undefined;
  } catch {
    return undefined;
  }
}

/** What is missing is lost; what there is too often, or should not be there, is doubled. */
function compare(expected: string[], found: string[]): ['lost' | 'doubled', string][] {
  const differences: ['lost' | 'doubled', string][] = [];
  for (const item of new Set([...expected, ...found])) {
    const [wanted, have] = [expected, found].map((list) => list.filter((other) => other === item).length) as [number, number];
    if (have < wanted) differences.push(['lost', item]);
    if (have > wanted) differences.push(['doubled', item]);
  }
  return differences;
}

/** What has effects outside of the sandbox has had them, and as often as it may. */
function ofCounter({ calls, counted, isServed }: Ended): Problem[] {
  return calls.flatMap(({ callId, tool, state }) => {
    const times = counted(callId);
    const name = `${tool} (${callId})`;
    if (tool === 'client:ask' && !isServed(callId)) return [broken('reported', `${name} has a result, and no client has run it`)];
    if (tool !== ONCE && tool !== 'chaos:count') return [];
    if (tool === ONCE && times > 1) return [broken('doubled', `the counter got ${times} requests for ${name}`)];
    return state === 'finished' && times === 0 ? [broken('reported', `${name} is said to have finished, and the counter got no request for it`)] : [];
  });
}

/** Numbers without gaps; what happens once is reported once; all turns have finished; each answer of a person is reported. */
function ofEvents({ kind, inherited = 0, events }: Ended): Problem[] {
  const problems: Problem[] = [];
  const gap = events.findIndex(({ seq }, index) => seq !== index + 1);
  if (gap !== -1) problems.push(broken('reported', `event ${gap + 1} has the number ${events[gap]?.seq}`));
  for (const once of [
    'tool.requested',
    'tool.started',
    'tool.finished',
    'tool.approval-requested',
    'tool.approval-resolved',
    'agent.started',
    'agent.ended',
  ] as const) {
    const ids = events.flatMap(({ type, data }) => (type === once ? [data.callId] : []));
    for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index)))
      problems.push(broken('reported', `${once} of ${id} is reported more than once`));
  }
  const idsOf = (...types: ConversationEvent['type'][]) =>
    new Set(events.flatMap(({ type, data: { callId } }) => (types.includes(type) && typeof callId === 'string' ? [callId] : [])));
  const ends = idsOf('tool.finished', 'tool.unknown');
  for (const id of idsOf('tool.requested')) if (!ends.has(id)) problems.push(broken('result', `no event tells the end of ${id}`));
  const endedAgents = idsOf('agent.ended');
  for (const id of idsOf('agent.started')) if (!endedAgents.has(id)) problems.push(broken('result', `no event tells the end of the sub-agent of ${id}`));
  const outcomes = events.flatMap(({ type, data }) => (type === 'turn.finished' ? [data.outcome] : []));
  const own = kind.turns.slice(inherited);
  if (outcomes.join() !== own.map(() => 'finished').join()) problems.push(broken('lost', `its turns ended as: ${outcomes.join(', ') || 'none has ended'}`));
  return problems;
}

function ofReader({ events, read }: Ended): Problem[] {
  if (read === undefined) return [];
  const differs = events.findIndex((event, index) => JSON.stringify(event) !== JSON.stringify(read[index]));
  if (differs !== -1)
    return [broken('reported', `event ${differs + 1} is ${JSON.stringify(events[differs])}, and its reader had ${JSON.stringify(read[differs])}`)];
  return read.length === events.length ? [] : [broken('reported', `its reader had ${read.length} events, and ${events.length} are stored`)];
}

function textOf(content: ContentPart[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join('');
}
