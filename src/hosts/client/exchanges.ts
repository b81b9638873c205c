import { failure, isFailure, type LongshoreError } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import type { Call } from '../channel/calls.ts';
import { dataOf, type Message } from '../channel/messages.ts';
import type { HostClient, Target } from './host-client.ts';

/** Gets the answer of a call that transfers nothing else. */
export async function ask(hosts: HostClient, target: Target, call: Call, signal: AbortSignal): Promise<Json> {
  const { sender, messages } = await hosts.open(target, call, signal);
  sender.end();
  return whole(messages);
}

/** Gets the answer of a call, and then its data. A caller that does not read all of it aborts the signal. */
export async function download(hosts: HostClient, target: Target, call: Call, signal: AbortSignal): Promise<{ answer: Json; content: AsyncGenerator<Buffer> }> {
  const { sender, messages } = await hosts.open(target, call, signal);
  sender.end();
  return { answer: answerIn(await messages.next()), content: dataOf(messages) };
}

/** Sends data with a call. What the source still has when the worker refuses is not read. @throws also what the source throws */
export async function upload(hosts: HostClient, target: Target, call: Call, source: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Json> {
  const opened = await hosts.open(target, call, signal);
  const { sender, messages } = opened;
  const sent = (async () => {
    for await (const chunk of source) await sender.data(chunk);
    sender.end();
  })();
  let refused: LongshoreError | undefined;
  // Without all of the source there is no answer to wait for, unless the worker has refused meanwhile.
  sent.catch((error: unknown) => {
    if (isFailure(error)) refused = error;
    opened.abort();
  });
  try {
    return await whole(messages);
  } catch (error) {
    throw refused ?? error;
  } finally {
    opened.abort();
  }
}

async function whole(messages: AsyncGenerator<Message>): Promise<Json> {
  const answer = answerIn(await messages.next());
  // Up to the end, so that an answer that is cut counts as none.
  for await (const _ of messages);
  return answer;
}

/** @throws INTERNAL when the worker has ended the call without an answer */
export function answerIn({ value }: IteratorResult<Message, void>): Json {
  if (value?.kind === 'json') return value.value;
  throw failure('INTERNAL', { problem: 'a worker gave no answer' });
}
