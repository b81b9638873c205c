import { cutMiddle } from '../../../contracts/visible-text.ts';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const MAX_TEXT = 300;

/** The message of an error. For a refusal by HTTP it contains the status, which the error's own message omits. */
export function messageOf(error: Error): string {
  if (!(error instanceof StreamableHTTPError) || error.code === undefined) return error.message;
  const text = error.message.replace(/^Streamable HTTP error: (Error POSTing to endpoint: )?/, '').trim();
  return `it answers with HTTP ${error.code}${text === '' ? '' : `: ${cutMiddle(text, MAX_TEXT)}`}`;
}

/** The status of a refusal by HTTP, which may be the cause of the error. */
export function statusIn(error: unknown): number | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof StreamableHTTPError) return at.code;
  return undefined;
}
