import { cutMiddle } from '../../../../contracts/visible-text.ts';
import { SdkHttpError } from '@modelcontextprotocol/client';

const MAX_TEXT = 300;

/** The message of an error. For a refusal by HTTP it contains the status, which the error's own message omits. */
export function messageOf(error: Error): string {
  if (!(error instanceof SdkHttpError) || error.status === undefined) return error.message;
  const { text: said } = error.data;
  const text = (typeof said === 'string' ? said : error.message.replace(/^Error POSTing to endpoint: /, '')).trim();
  return `it answers with HTTP ${error.status}${text === '' ? '' : `: ${cutMiddle(text, MAX_TEXT)}`}`;
}

/** The status of a refusal by HTTP, which may be the cause of the error. */
export function statusIn(error: unknown): number | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof SdkHttpError) return at.status;
  return undefined;
}
