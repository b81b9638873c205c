import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import { Pool } from 'pg';
import { connectionOptions } from '../src/store/database/connection-options.ts';

/**
 * The least that a service of its own can do with a message, as a program: one statement that finds the caller, one that keeps the text, and the update.
 * Prints its address. The path of a request is the id of the workflow.
 */
const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE = 'default', DATABASE_URL = '' } = process.env;
const client = new Client({
  connection: await Connection.connect(TEMPORAL_ADDRESS === undefined ? {} : { address: TEMPORAL_ADDRESS }),
  namespace: TEMPORAL_NAMESPACE,
});
const pool = new Pool(connectionOptions(DATABASE_URL));
await pool.query('create table if not exists bench_messages (text text)');

const server = createServer((request, response) => {
  void answer(request.url?.slice(1) ?? '', request).then(() => response.end('{}'));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);

async function answer(workflowId: string, request: NodeJS.ReadableStream): Promise<void> {
  const message = await text(request);
  await pool.query({ name: 'caller', text: 'select 1 from bench_messages where text = $1 limit 1', values: ['caller'] });
  await pool.query({ name: 'message', text: 'insert into bench_messages values ($1)', values: [message] });
  await client.workflow.getHandle(workflowId).executeUpdate('go');
}
