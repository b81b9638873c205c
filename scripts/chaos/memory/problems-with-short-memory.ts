import { ONCE, problemsOf, type Ended } from '../check-conversation.ts';
import type { Problem } from '../verdict.ts';
import { SWELLS } from '../kinds/memory.ts';

/** What the result of a call says that took more memory than its sandbox has. */
const SAYS_MEMORY = /ran out of memory|has no memory left|allocation failed/;
/** What the result of a call says that may not be repeated, and whose worker or plugin the kernel has killed, or whose claim Postgres has not acknowledged. */
const SAYS_WORKER =
  /its process was ended: it ran out of memory|worker that ran this call died|worker died or was stopped|the answer of Postgres to it was lost/;
/** They end as that may be: with an error, or as unknown. But each has one result. */
const MAY_BE = /\bfailed\b|it is unknown whether/;

/** Everything about a conversation that breaks a rule, where some of its calls took memory without end, and memory may have been short for the parts of the installation. */
export function problemsWithShortMemory(ended: Ended): Problem[] {
  const swelling = callsOf(ended)
    .filter((call) => JSON.stringify(call.arguments).includes(SWELLS))
    .map(({ callId }) => callId);
  const others = problemsOf(ended).filter(({ what }) => !(MAY_BE.test(what) && swelling.some((callId) => what.includes(callId))));
  const silent = swelling
    .map((callId) => ({ callId, text: textOf(ended, callId) }))
    .filter(({ text }) => !SAYS_MEMORY.test(text) && !SAYS_WORKER.test(text))
    .map(({ callId, text }): Problem => ({ rule: 'told', what: `${callId} took all memory of its sandbox, and its result does not say so: ${text}` }));
  const untrue = ended.calls
    .filter(({ tool, state }) => tool === ONCE && state === 'unknown')
    .map(({ callId }) => ({ callId, text: textOf(ended, callId) }))
    .filter(({ text }) => !SAYS_WORKER.test(text))
    .map(({ callId, text }): Problem => ({ rule: 'told', what: `it is unknown whether ${callId} has taken effect, and its result does not say why: ${text}` }));
  return [...others, ...silent, ...untrue];
}

function callsOf({ entries }: Ended) {
  return entries.flatMap(({ entry }) => (entry.role === 'assistant' ? entry.parts.filter((part) => part.type === 'tool-call') : []));
}

function textOf({ entries }: Ended, callId: string): string {
  const result = entries.find(({ entry }) => entry.role === 'tool' && entry.callId === callId)?.entry;
  return result?.role === 'tool' ? result.content.map((part) => (part.type === 'text' ? part.text : '')).join('') : 'there is none';
}
