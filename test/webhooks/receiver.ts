import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { WebhookPayload } from '../../src/contracts/webhook.ts';

export interface Received {
  id: string;
  headers: IncomingHttpHeaders;
  body: string;
  payload: WebhookPayload;
}

/** A server of somebody who gets webhooks. It keeps its port while it is away. */
export interface Receiver extends AsyncDisposable {
  url: string;
  received: Received[];
  /** What it answers; 200 at first. */
  answer: (response: ServerResponse, request: IncomingMessage) => void;
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

export async function openReceiver(host = '127.0.0.1'): Promise<Receiver> {
  const server = createServer((request, response) => {
    const receive = async () => {
      receiver.received.push(await take(request));
      receiver.answer(response, request);
    };
    void receive();
  });
  const listen = async (port: number) => {
    server.listen(port, host);
    await once(server, 'listening');
  };
  const close = async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://${host}:${port}/hooks`,
    received: [],
    answer: (response) => response.end('ok'),
    goAway: close,
    comeBack: () => listen(port),
    async [Symbol.asyncDispose]() {
      if (server.listening) await close();
    },
  };
  return receiver;
}

async function take(request: IncomingMessage): Promise<Received> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
  return { id: String(request.headers['webhook-id']), headers: request.headers, body, payload: JSON.parse(body) as WebhookPayload };
}

/** Whether the library of Standard Webhooks takes the message. */
export function isSignedWith(secret: string, { body, headers }: Received): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
