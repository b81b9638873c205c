import { MAX_MESSAGE_LENGTH } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';
import { unstorable } from '../contracts/visible-text.ts';
import { showValue } from '../common/show-value.ts';

/** Refuses a message that is not a valid text for an agent, before anything is stored. One with attachments may have no text. */
export function checkMessageText(text: unknown, attachments: readonly unknown[] = []): asserts text is string {
  if (typeof text !== 'string') throw failure('MESSAGE_INVALID', { problem: `it is ${showValue(text)}, and not a text`, fix: 'Give a string' });
  if (text.length > MAX_MESSAGE_LENGTH) {
    const problem = `it has ${text.length} characters, and ${MAX_MESSAGE_LENGTH} are allowed`;
    throw failure('MESSAGE_INVALID', { problem, fix: 'Put the rest into a file and name the file in the message' });
  }
  if (text.trim() === '' && attachments.length === 0) throw failure('MESSAGE_INVALID', { problem: 'it is empty', fix: 'Say something' });
  const problem = unstorable(text);
  if (problem !== undefined) throw failure('MESSAGE_INVALID', { problem: `it has ${problem}`, fix: 'Leave it out' });
}
