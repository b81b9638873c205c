import { Context } from '@temporalio/activity';
import { inTime } from '../common/in-time.ts';
import type { CallModelArgs, CallModelResult } from '../contracts/activities.ts';
import { isFailure } from '../contracts/errors.ts';
import { operatorText } from '../contracts/operator-text.ts';
import type { Logger } from '../platform/log.ts';
import { redact } from '../tool-calls/results/redact.ts';
import { accept, onceEachOf, type AcceptanceParts } from './accept-message.ts';

/** Shorter than the time in which a model call has to heartbeat. */
const PATIENCE_MS = 4_000;

/**
 * A model call that first accepts the messages it is to answer: one activity less on the way from a message to the model. Every attempt accepts them again,
 * which changes nothing. What fails and may be tried again is left to `acceptMessage`, which is tried without an end; a model call is not. After that there is another
 * step, so a later attempt does not leave it to that: an earlier one may have stored the answer of this step, with calls that would never run.
 */
export function acceptingMessages(
  callModel: (args: CallModelArgs) => Promise<CallModelResult>,
  parts: AcceptanceParts & { log: Logger },
): (args: CallModelArgs) => Promise<CallModelResult> {
  return async (args) => {
    if (!args.accepts) return callModel(args);
    const { conversationId } = args;
    try {
      await inTime(acceptAll(parts, args, args.accepts), PATIENCE_MS, () => new Error(`it took longer than ${PATIENCE_MS} ms`));
    } catch (error) {
      if (isFailure(error) && !error.retryable) {
        return { outcome: 'failed', accepted: false, code: error.code, message: operatorText(error.message, undefined, redact) };
      }
      if (Context.current().info.attempt > 1) throw error;
      parts.log.warn({ conversationId, turnId: args.turnId, err: error }, 'the messages of a model call could not be accepted yet');
      return { outcome: 'unaccepted', accepted: false };
    }
    return { ...(await callModel(args)), accepted: true };
  };
}

/** The status replaces another only together with the message's events: later ones may have been saved before an attempt that was thought dead goes on. */
async function acceptAll(
  parts: AcceptanceParts,
  { conversationId, turnId }: CallModelArgs,
  { messages, status }: NonNullable<CallModelArgs['accepts']>,
): Promise<void> {
  for (const message of messages) {
    await accept(parts, { ...message, conversationId, turnId, status, replaces: 'with-events', keyed: onceEachOf(message.messageId) });
  }
}
