import type { Attachment } from '../../../client/attachments/attachment-types.ts';
import { failure } from '../../../contracts/errors.ts';
import { showValue } from '../../../common/show-value.ts';

const BASE64 = ';base64';
const LONGEST_HEAD = 500;

/**
 * An attachment whose bytes are in its address, as clients of the AI SDK and of OpenAI send them. Nothing is fetched for a caller: an address of a server could be one
 * that only the service reaches.
 * @param what the field, for errors
 * @param name in place of one that the client did not give
 */
export function attachmentIn(what: string, url: unknown, { name, mediaType }: { name: string; mediaType?: string | undefined }): Attachment {
  if (typeof url !== 'string') throw refused(what, `its address is ${showValue(url)}`, FIX);
  const comma = url.indexOf(',');
  const head = url.slice(0, Math.min(LONGEST_HEAD, Math.max(0, comma)));
  if (!/^data:/i.test(head)) throw refused(what, `its address is ${showValue(url)}, and the service fetches none`, FIX);
  if (!head.toLowerCase().endsWith(BASE64)) throw refused(what, 'its data is not in base 64', FIX);
  const said = head.slice('data:'.length, -BASE64.length);
  return { name, mediaType: mediaType ?? (said === '' ? undefined : said), data: url.slice(comma + 1) };
}

const FIX = 'Send the bytes as data:<media type>;base64,<data>';

function refused(what: string, problem: string, fix: string): Error {
  return failure('INVALID_ARGUMENT', { what, problem, fix });
}
