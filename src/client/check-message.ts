import { MAX_MESSAGE_LENGTH } from '../contracts/conversation.ts';
import { failure } from '../contracts/errors.ts';

/** Refuses a text before anything is stored. */
export function checkMessage(text: string): void {
  if (text.trim() === '') throw failure('MESSAGE_INVALID', { problem: 'it is empty', fix: 'Say something' });
  if (text.length <= MAX_MESSAGE_LENGTH) return;
  const problem = `it has ${text.length} characters, and ${MAX_MESSAGE_LENGTH} are allowed`;
  throw failure('MESSAGE_INVALID', { problem, fix: 'Put the rest into a file and name the file in the message' });
}
