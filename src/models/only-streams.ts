import { isObject, type JsonObject } from '../contracts/json.ts';
import { tryParseForeign } from '../contracts/foreign-json.ts';
import { cutMiddle } from '../contracts/visible-text.ts';

/** What is no stream of events, by its first character: those begin with the name of a field, or a colon. */
const OTHER = /^\s*[{[<]/;
const MOST_BYTES = 65_536;
const MOST_SHOWN = 300;

/**
 * The answer, if it may be a stream of events. A gateway may answer 200 with an error in JSON, and a proxy with a page: read as a stream, each would be an answer that
 * has broken off before it began, and what it says would be lost.
 */
export async function onlyStreams(answer: Response): Promise<Response> {
  if (!answer.ok || !answer.body) return answer;
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const first = await reader.read();
  const begins = first.value ?? new Uint8Array();
  if (OTHER.test(Buffer.from(begins).toString('latin1', 0, MOST_SHOWN))) throw errorIn(await restOf(reader, begins));
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => (first.done ? controller.close() : controller.enqueue(begins)),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, { status: answer.status, statusText: answer.statusText, headers: answer.headers });
}

async function restOf(reader: ReadableStreamDefaultReader<Uint8Array>, begins: Uint8Array): Promise<string> {
  const pieces = [begins];
  for (let bytes = begins.length; bytes < MOST_BYTES;) {
    const { done, value } = await reader.read();
    if (done) break;
    pieces.push(value);
    bytes += value.length;
  }
  await reader.cancel().catch(() => undefined);
  return Buffer.concat(pieces).toString();
}

function errorIn(body: string): Error {
  const said = tryParseForeign(body);
  const { error = said } = isObject(said) ? said : {};
  const { message, type, code } = isObject(error) ? error : ({} as JsonObject);
  const words =
    typeof message === 'string' && message !== ''
      ? message
      : typeof error === 'string'
        ? error
        : `it answered with no stream: ${cutMiddle(body.trim(), MOST_SHOWN)}`;
  return Object.assign(new Error(words), { type, code });
}
