import { Client } from 'pg';
import { until, waitingForLocks } from '../sandbox/lifecycle/support.ts';

/** Runs statements that wait for the rows that `lock` has selected, and so for each other: all have begun, and read what there was, before the first can change anything. */
export async function behindLock<Results extends unknown[]>(
  url: string,
  lock: { sql: string; values?: string[] },
  statements: { [Index in keyof Results]: () => Promise<Results[Index]> },
): Promise<Results> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(`${lock.sql} for update`, lock.values);
    const running: Promise<unknown>[] = [];
    for (const statement of statements) {
      const one = statement();
      one.catch(() => undefined);
      running.push(one);
      await until(async () => (await waitingForLocks({ databaseUrl: url })) >= running.length, `${running.length} statements wait`);
    }
    await client.query('commit');
    return (await Promise.all(running)) as Results;
  } finally {
    await client.end();
  }
}

/** The row of a conversation. */
export function rowOf(conversationId: string): { sql: string; values: string[] } {
  return { sql: 'select 1 from conversations where conversation_id = $1', values: [conversationId] };
}
