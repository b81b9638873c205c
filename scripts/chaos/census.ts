import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowClient } from '@temporalio/client';
import { listLeftovers } from '../temporary-stack.ts';
import { stillRunning } from './processes.ts';
import type { Records } from './records.ts';

/** Where leftovers are looked for. */
export interface Places {
  installation: string;
  records: Records;
  workflows: WorkflowClient;
  /** Names of processes that have to be gone. */
  processes: Iterable<string>;
  /** The directory that all processes had for temporary files. */
  temporary: string;
}

/** The sandbox's volume and the rows are removed by others than those that ended last: they get this time. */
const SETTLE_MS = 30_000;
/** Workers share it, and keep it for the next ones: one directory for each version. */
const KEPT_FILES = /^longshore-isolates-[0-9a-f]{16}$/;

/** Rows that have to be gone when all conversations have closed. Each statement gives texts. */
const ROWS = [
  `select 'conversation ' || conversation_id || ' is ' || state as what from conversations where state <> 'closed'`,
  `select 'sandbox ' || sandbox_id || ' is ' || state as what from sandboxes where state <> 'destroyed'`,
  `select 'snapshot ' || snapshot_id || ' of ' || sandbox_id as what from snapshots`,
  `select 'blob ' || blob_id as what from blobs`,
  `select 'call ' || call_id || ' is ' || state as what from tool_calls where state in ('proposed', 'running')`,
  `select 'client call ' || call_id || ' is ' || state as what from client_calls where state = 'waiting'`,
  `select 'turn ' || turn_id || ' is ' || state as what from turn_places`,
];
const OF_CONVERSATIONS = `select table_name as "table" from information_schema.columns
  where table_schema = current_schema() and column_name = 'conversation_id' and table_name <> 'conversations' order by 1`;

/** What is left, one line each; nothing after a while, where all is well. */
export async function census(places: Places): Promise<string[]> {
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const found = await find(places);
    if (found.length === 0 || Date.now() > deadline) return found;
    await sleep(500);
  }
}

async function find({ installation, records, workflows, processes, temporary }: Places): Promise<string[]> {
  const files = (await readdir(temporary)).filter((name) => !KEPT_FILES.test(name));
  return [
    ...(await listLeftovers(installation)),
    ...(await stillRunning(processes)).map((name) => `process ${name}`),
    ...files.map((name) => `file ${join(temporary, name)}`),
    ...(await openWorkflows(workflows)),
    ...(await rows(records)),
  ];
}

async function openWorkflows(workflows: WorkflowClient): Promise<string[]> {
  const open: string[] = [];
  for await (const { workflowId } of workflows.list({ query: `ExecutionStatus = 'Running'` })) open.push(`workflow ${workflowId}`);
  return open;
}

async function rows(records: Records): Promise<string[]> {
  const found: string[] = [];
  for (const sql of ROWS) found.push(...(await records.query<{ what: string }>(sql)).map(({ what }) => what));
  for (const { table } of await records.query<{ table: string }>(OF_CONVERSATIONS)) {
    const sql = `select count(*)::int as count from ${table} t where conversation_id is not null and not exists (select from conversations c where c.conversation_id = t.conversation_id)`;
    const [{ count } = { count: 0 }] = await records.query<{ count: number }>(sql);
    if (count > 0) found.push(`${count} rows of ${table} whose conversation does not exist`);
  }
  return found;
}
