import { stableJson } from '../../common/stable-json.ts';
import { MAX_CLIENT_RESULT_BYTES } from '../../contracts/client-tool.ts';
import { failure } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import { asKept } from '../../store/database/json-text.ts';

/** A result as it is compared and measured. A client measures it before it sends it: a service ends a request that is too long. @throws CLIENT_RESULT_TOO_LARGE */
export function resultText(callId: string, result: Json, isError: boolean): string {
  const text = asKept(stableJson([result, isError]));
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_CLIENT_RESULT_BYTES) throw failure('CLIENT_RESULT_TOO_LARGE', { callId, bytes, limit: MAX_CLIENT_RESULT_BYTES });
  return text;
}
