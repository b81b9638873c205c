import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest, type Agent } from 'node:https';
import { checkServerIdentity } from 'node:tls';
import { failure, isFailure, type LongshoreError } from '../../contracts/errors.ts';
import type { HostWorker } from '../../store/service/hosts.ts';
import { CALL_PATH, type ChannelRequest } from '../channel/calls.ts';
import { readMessages, type Message } from '../channel/messages.ts';
import { createSender, type Sender } from '../channel/sender.ts';

/** A call under way. */
export interface OpenCall {
  sender: Sender;
  /** @throws the failure of the call; HOST_AWAY when the worker has gone */
  messages: AsyncGenerator<Message>;
  abort(): void;
}

/** No worker has got the call, so that another one may be asked. */
export class NotConnectedError extends Error {}

const CONNECT_MS = 5_000;

/** @throws NotConnectedError; HOST_AWAY when the worker has got the call, or may have, and gives no answer */
export async function connectTo(
  { worker, agent, signal }: { worker: HostWorker; agent: Agent; signal: AbortSignal },
  asked: ChannelRequest,
): Promise<OpenCall> {
  const { hostname, port } = new URL(`https://${worker.address}`);
  const request = httpsRequest({
    agent,
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    method: 'POST',
    path: CALL_PATH,
    servername: worker.workerId,
    // Its certificate is the one that it has announced, also if another worker has its address now.
    checkServerIdentity: (name, certificate) =>
      certificate.fingerprint256 === worker.fingerprint ? checkServerIdentity(name, certificate) : new Error('another certificate than announced'),
    signal,
  });
  const sender = createSender(request);
  const answered = answerTo(request);
  sender.json(asked).catch(() => undefined);
  const { sandboxId } = asked;
  const response = await answered.catch((error: Error) => {
    throw error instanceof NotConnectedError || signal.aborted ? error : away(error, sandboxId);
  });
  return { sender, messages: orAway(readMessages(response), sandboxId), abort: () => request.destroy() };
}

function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const timer = setTimeout(() => request.destroy(new Error('no answer in time')), CONNECT_MS);
    request.once('socket', (socket) => {
      socket.once('secureConnect', () => {
        isConnected = true;
        timer.refresh();
      });
    });
    request.once('error', (error) => {
      clearTimeout(timer);
      reject(isConnected ? error : new NotConnectedError(error.message, { cause: error }));
    });
    request.once('response', (response: IncomingMessage) => {
      clearTimeout(timer);
      if (response.statusCode === 200) resolve(response);
      else request.destroy(new Error(`the worker answers ${response.statusCode}`));
    });
  });
}

async function* orAway(messages: AsyncGenerator<Message>, sandboxId: string): AsyncGenerator<Message> {
  try {
    yield* messages;
  } catch (error) {
    throw isFailure(error) ? error : away(error as Error, sandboxId);
  }
}

function away(error: Error, sandboxId: string): LongshoreError {
  return failure('HOST_AWAY', { sandboxId, problem: error.message }, error);
}
