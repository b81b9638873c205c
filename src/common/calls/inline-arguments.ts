import type { ProposedCall } from '../../contracts/activities.ts';
import { isQuestion } from '../../contracts/questions/question.ts';

/** Of all calls that a workflow is given at once, and of all approvals that wait. Temporal takes 2 MiB, and a character takes up to three bytes. */
export const MAX_INLINE_IN_ALL = 131_072;

type Shown = Pick<ProposedCall, 'tool' | 'arguments'>;

/** Calls as a workflow is given them: arguments that would make them too large in all stay in Postgres. Those about which a person is asked come first. */
export function withinInline(calls: ProposedCall[]): ProposedCall[] {
  const asks = ({ decision, remembered }: ProposedCall) => decision === 'ask' || remembered === true;
  const shown = new Set<ProposedCall>();
  let length = 0;
  for (const call of [...calls.filter(asks), ...calls.filter((call) => !asks(call))]) {
    if (!fitsInline(call, length)) continue;
    shown.add(call);
    length += inlineLength([call]);
  }
  return calls.map((call) => (shown.has(call) ? call : withoutArguments(call)));
}

/** Whether the arguments of a call can be shown beside others of this length. A question cannot be answered without them. */
export function fitsInline(call: Shown, length: number): boolean {
  return isQuestion(call.tool) || length + inlineLength([call]) <= MAX_INLINE_IN_ALL;
}

export function inlineLength(calls: Pick<Shown, 'arguments'>[]): number {
  return calls.reduce((sum, { arguments: given }) => sum + (given === undefined ? 0 : JSON.stringify(given).length), 0);
}

export function withoutArguments(call: ProposedCall): ProposedCall {
  const { arguments: _, ...rest } = call;
  return rest;
}
