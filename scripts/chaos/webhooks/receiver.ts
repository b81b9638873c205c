import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { connect } from '../../../src/client.ts';
import type { ConversationEvent } from '../../../src/contracts/events.ts';
import type { Problem } from '../verdict.ts';
import type { World } from '../world.ts';
import { problemsWithMessages, type Message } from './problems-with-messages.ts';

const SHARE_REFUSED = 0.05;
const LATE_MS = 60_000;
const LOOK_EVERY_MS = 500;
const CONVERSATIONS = 'select conversation_id as id from conversations';

/** Takes what a webhook of the installation sends, and refuses some of it. */
export interface Receiver extends AsyncDisposable {
  /** When all conversations have ended: waits for what is still to come, removes the webhook, and says what breaks a rule. */
  problems(): Promise<Problem[]>;
}

export async function openReceiver({ config, random, records }: World): Promise<Receiver> {
  const taken: Message[] = [];
  const refused: string[] = [];
  let verifier: Webhook | undefined;
  const take = async (request: IncomingMessage): Promise<number> => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
    if (random.faults() < SHARE_REFUSED) return 503;
    if (verifier === undefined) return 503;
    const { data } = verifier.verify(body, request.headers as Record<string, string>) as { data: ConversationEvent };
    taken.push({ id: String(request.headers['webhook-id']), event: data });
    return 204;
  };
  const server = createServer((request, response) => {
    take(request).then(
      (status) => response.writeHead(status).end(),
      (error: unknown) => {
        refused.push(String(error));
        response.writeHead(400).end();
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: temporalAddress, LONGSHORE_TASK_QUEUE: taskQueue } = config;
  const connection = { databaseUrl, temporalAddress, taskQueue, agents: [] };
  await using direct = await connect(connection);
  const { webhookId, secret } = await direct.webhooks.create({ url: `http://127.0.0.1:${port}/` });
  verifier = new Webhook(secret);
  const find = async (): Promise<Problem[]> => {
    const logged: ConversationEvent[] = [];
    for (const { id } of await records.query<{ id: string }>(CONVERSATIONS)) logged.push(...(await records.of(id)).events);
    return problemsWithMessages(taken, logged);
  };
  return {
    async problems() {
      let found = await find();
      for (const end = Date.now() + LATE_MS; found.length > 0 && Date.now() < end; found = await find()) await sleep(LOOK_EVERY_MS);
      await using later = await connect(connection);
      await later.webhooks.delete(webhookId);
      return [...found, ...refused.map((what): Problem => ({ rule: 'reported', what: `a message of a webhook could not be read: ${what}` }))];
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
