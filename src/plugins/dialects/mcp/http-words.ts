import { cutMiddle } from '../../../contracts/visible-text.ts';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const MAX_TEXT = 300;

/** What an error says; a refusal of HTTP with its status, which its own message leaves out. */
export function messageOf(error: Error): string {
  if (!(error instanceof StreamableHTTPError) || error.code === undefined) return error.message;
  const text = error.message.replace(/^Streamable HTTP error: (Error POSTing to endpoint: )?/, '').trim();
  return `it answers with HTTP ${error.code}${text === '' ? '' : `: ${cutMiddle(text, MAX_TEXT)}`}`;
}
