import type { FastifyReply } from 'fastify';
import { anySignal } from '../../common/any-signal.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { Json } from '../../contracts/json.ts';
import type { HostClient, Target } from '../../hosts/client/host-client.ts';
import { problemOf } from '../http/problem.ts';
import { writeInTime } from '../stream/write-in-time.ts';
import { createOutputEvents } from './output-events.ts';
import { untilGone } from '../http/until-gone.ts';

interface Wanted {
  target: Target;
  execId: string;
  from: { stdout: number; stderr: number };
  /** Ends the stream: the reader goes on at another process. */
  signal: AbortSignal;
  stalledMs: number;
}

const HEAD = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' };

/** Sends the output of a command as events, from these offsets to its end. What fails before the first event is thrown; later, it is an event `problem`. */
export async function streamOutput(reply: FastifyReply, hosts: HostClient, { target, execId, from, signal, stalledMs }: Wanted): Promise<void> {
  const { raw } = reply;
  const leaving = anySignal([untilGone(raw), signal]);
  const { sender, messages } = await hosts.open(target, { do: 'commands.follow', execId, from }, leaving);
  sender.end();
  // The first message is what is known of the command: there is such a command.
  await messages.next();
  reply.hijack();
  raw.writeHead(200, HEAD);
  const events = createOutputEvents(from);
  const send = (text: string) => writeInTime(raw, text, { signal: leaving, stalledMs });
  try {
    await send('retry: 1000\n\n');
    for await (const message of messages) await send(events.of(message));
  } catch (error) {
    if (!leaving.aborted && isFailure(error)) raw.write(events.problem(problemOf(error, reply.request).problem as unknown as Json));
  } finally {
    raw.end();
  }
}
