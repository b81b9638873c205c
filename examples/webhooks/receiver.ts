import { createServer, type IncomingMessage } from 'node:http';
import { Webhook } from 'standardwebhooks';

interface Message {
  type: string;
  data: { conversationId: string; seq: number };
}

const webhook = new Webhook(process.env['WEBHOOK_SECRET'] ?? '');
const seen = new Set<string>(); // In production: a table with a unique column.

async function take(request: IncomingMessage): Promise<void> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
  const { type, data } = webhook.verify(body, request.headers as Record<string, string>) as Message;
  const id = String(request.headers['webhook-id']);
  if (!seen.has(id)) console.log(type, data.conversationId, data.seq);
  seen.add(id);
}

createServer((request, response) => {
  take(request).then(
    () => response.writeHead(204).end(),
    () => response.writeHead(401).end(),
  );
}).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => console.log('listening'));
