import { linesShownLast, ONCE, problemsOf, type Ended } from '../check-conversation.ts';
import type { Problem } from '../verdict.ts';

/** Texts of calls and of their programs where a disk is full, and of calls of code that failed because the disk of Postgres was full. */
const NO_SPACE = /no space|not kept|may write|Postgres (?:cannot be used|has no room)/i;
const ADDED = /echo '([^']+)' >> log/;

/** Such a call has not taken effect, and its result says why; that of code has told its code. */
const FAILED = 'is failed in the ledger';

/**
 * Everything about a conversation that breaks a rule, where the disk of its sandbox may have been full: then calls may have failed, and say so. A call whose result
 * shows no failure has done all of its work.
 */
export function problemsWithFullDisks(ended: Ended): Problem[] {
  const results = new Map(ended.entries.flatMap(({ entry }) => (entry.role === 'tool' ? [[entry.callId, entry] as const] : [])));
  const failed = [...results.values()].filter((result) => hasFailed(result));
  const cut = [...results.values()].filter((result) => lacksOutput(ended, result));
  // Of a call that may not be repeated, it is unknown what it did when Postgres could not be asked; its result says that.
  const unknown = new Set(ended.calls.filter(({ tool, state }) => tool === ONCE && state === 'unknown').map(({ callId }) => callId));
  const untold = failed.filter((result) => !NO_SPACE.test(textOf(result)) && !unknown.has(result.callId));
  const silent = cut.map((result): Problem => ({
    rule: 'told',
    what: `the output of ${result.callId} is not whole, and it does not say so: ${textOf(result)}`,
  }));
  // Commands of its sub-agents may have failed, too.
  if (failed.length === 0 && ended.kind.below === undefined) return [...problemsOf(ended), ...silent];
  // What it wrote may be in its file, and was not kept as its output.
  const isCut = NO_SPACE.test(textOf([...results.values()].at(-1)));
  const shown = isCut ? undefined : linesShownLast(ended.entries);
  const marks = shown ?? [];
  const problems = problemsOf({ ...ended, kind: { ...ended.kind, marks: [] } }).filter(
    ({ rule, what }) => !(rule === 'lost' && failed.some(({ callId }) => what.includes(callId))) && !what.endsWith(FAILED),
  );
  const lost = shown === undefined ? [] : marksOfSuccess(ended, results).filter((mark) => !marks.includes(mark));
  return [
    ...problems,
    ...silent,
    ...untold.map((result): Problem => ({ rule: 'told', what: `${result.callId} failed, and does not say that it lacked space: ${textOf(result)}` })),
    ...lost.map((mark): Problem => ({ rule: 'lost', what: `the line "${mark}" of ${JSON.stringify(marks)}` })),
    ...marks
      .filter((mark, index) => marks.indexOf(mark) !== index)
      .map((mark): Problem => ({ rule: 'doubled', what: `the line "${mark}" of ${JSON.stringify(marks)}` })),
  ];
}

type Result = Extract<Ended['entries'][number]['entry'], { role: 'tool' }>;

/** A command may end well after a part of it has failed; then its errors tell. */
function hasFailed(result: Result): boolean {
  return result.isError || /"exitCode": ?[1-9]/.test(textOf(result)) || NO_SPACE.test(textOf(result));
}

/** A command that counts has counted to its end, and not all of that is in its result. */
function lacksOutput({ entries }: Ended, result: Result): boolean {
  const call = callsOf(entries).find(({ callId }) => callId === result.callId);
  const last = /seq (\d+)/.exec(JSON.stringify(call?.arguments))?.[1];
  return last !== undefined && !hasFailed(result) && !textOf(result).includes(`\\n${last}`) && !NO_SPACE.test(textOf(result));
}

function callsOf(entries: Ended['entries']) {
  return entries.flatMap(({ entry }) => (entry.role === 'assistant' ? entry.parts.filter((part) => part.type === 'tool-call') : []));
}

/** Of calls that the model made itself, and whose results show no failure. */
function marksOfSuccess({ entries }: Ended, results: Map<string, Result>): string[] {
  return callsOf(entries).flatMap((call) => {
    const result = results.get(call.callId);
    const mark = ADDED.exec(JSON.stringify(call.arguments))?.[1];
    return mark === undefined || result === undefined || hasFailed(result) ? [] : [mark];
  });
}

function textOf(result: Result | undefined): string {
  return (result?.content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}
