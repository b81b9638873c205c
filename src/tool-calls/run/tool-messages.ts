import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import { isStoredMedia } from '../../contracts/attachments/media.ts';
import { failure } from '../../contracts/errors.ts';
import type { ContentPart } from '../../contracts/transcript.ts';
import type { ToolContext } from '../../plugins/api/tool-context.ts';
import { boundedPart } from '../results/bounded-parts.ts';
import { problemOfPart, resultTextOf } from '../results/tool-result.ts';
import type { ToolRun } from './tool-run.ts';

const MAX_MESSAGES = 100;
const MAX_TEXT = 100_000;
/** Sent parts are stored in the events, so that they exist without the sandbox. */
const MAX_SENT_BYTES = 10 * 1024 * 1024;

/**
 * The messages of a tool before it has its result. The n-th message of a call is the same message in every repetition of `execute`, so it is sent once;
 * after the call has ended, no more are sent. `at` is for a caller that numbers its messages itself.
 */
export interface Messages extends Pick<ToolContext, 'send' | 'note'> {
  at: (number: number) => Pick<ToolContext, 'send' | 'note'>;
}

export function createToolMessages(run: ToolRun, signal: AbortSignal): Messages {
  const { args, store, claim } = run;
  const { conversationId, turnId, stepId, callId, tool } = args;
  let earlier: Promise<number[]> | undefined;
  let said = 0;
  let sent = 0;
  let noted = 0;
  let woken = false;
  // Read now: plugins call from processes of their own, outside of the activity's context.
  const activity = Context.current();
  const tell = (key: string, text: string) => store.transcript.append(conversationId, turnId, stepId, key, { role: 'note', text });
  const sendAs = async (index: number, given: string | ContentPart): Promise<void> => {
    const whole: ContentPart = typeof given === 'string' ? { type: 'text', text: given } : given;
    refuseUnfit(run, signal, whole, said++);
    const part = boundedPart(whole);
    // Workers of earlier versions sent messages without a key.
    earlier ??= claim.attempt > 1 ? store.events.sentBy(conversationId, callId) : Promise.resolve([]);
    if (!(await earlier).includes(index)) {
      const data = { callId, tool, index, part };
      await store.events.append(conversationId, [{ type: 'message.sent', turnId, stepId, data, key: `sent/${callId}/${index}` }]);
    }
    await tell(`sent-${callId}-${index}`, `${tool} said to the user: ${resultTextOf([part])}`);
  };
  const noteAs = async (index: number, text: string, wake: boolean): Promise<void> => {
    refuseUnfit(run, signal, { type: 'text', text }, said++);
    const words = `From ${tool}: ${text}`;
    await tell(`noted-${callId}-${index}`, words);
    await store.events.append(conversationId, [{ type: 'note', turnId, stepId, data: { text: words }, key: `noted/${callId}/${index}` }]);
    if (!wake || woken) return;
    await wakeConversation(activity, run.args);
    woken = true;
  };
  return {
    send: (part) => sendAs(sent++, part),
    note: (text, { wake = false } = {}) => noteAs(noted++, text, wake),
    at: (number) => ({ send: (part) => sendAs(number, part), note: (text, { wake = false } = {}) => noteAs(number, text, wake) }),
  };
}

/** Every attempt sends the signal again, since an earlier attempt may have died before it; the conversation accepts it once for each call. */
async function wakeConversation({ client }: Context, { conversationId, callId }: ToolRun['args']): Promise<void> {
  try {
    await client.workflow.getHandle(conversationId).signal('wake', { callId });
  } catch (error) {
    // A closed conversation reads no notes.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

function refuseUnfit({ args: { callId, tool } }: ToolRun, signal: AbortSignal, part: ContentPart, index: number): void {
  if (signal.aborted) throw failure('INTERRUPTED', { callId });
  const refuse = (problem: string) => failure('TOOL_RESULT_INVALID', { tool, problem });
  if (index >= MAX_MESSAGES) throw refuse(`more than ${MAX_MESSAGES} messages in one call`);
  const problem = problemOfPart({ ...part });
  if (problem) throw refuse(`a message with ${problem}`);
  if (part.type !== 'text') return refuseLarge(part);
  if (part.text.length > MAX_TEXT) throw refuse(`a message of ${part.text.length} characters; at most ${MAX_TEXT} are allowed`);
}

function refuseLarge(part: Exclude<ContentPart, { type: 'text' }>): void {
  if (isStoredMedia(part)) return;
  const bytes = Buffer.byteLength(part.data, 'base64');
  if (bytes <= MAX_SENT_BYTES) return;
  const path = part.type === 'file' ? part.name : part.type;
  throw failure('FILE_FAILED', { path, problem: `${bytes} bytes are too many to be sent; at most ${MAX_SENT_BYTES} are kept with the conversation` });
}
