import { Client } from 'pg';
import { until, waitingForLocks } from '../../sandbox/lifecycle/support.ts';

/** Each row that is added to the audit log waits until the advisory lock is free. */
const WAIT = `create function wait_at_once() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(4711); return new; end $$;
  create trigger wait_at_once before insert on audit_log for each row execute function wait_at_once()`;
const WAIT_NO_MORE = 'drop trigger wait_at_once on audit_log; drop function wait_at_once';

/** Runs statements that write into the audit log so that several of them have begun, and none has ended, at one moment. */
export async function atOnce<Result>(databaseUrl: string, statements: (() => Promise<Result>)[]): Promise<Result[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(WAIT);
    await client.query('select pg_advisory_lock(4711)');
    const running = Promise.all(statements.map(async (statement) => statement()));
    await until(async () => (await waitingForLocks({ databaseUrl })) >= 4, 'several statements wait');
    await client.query('select pg_advisory_unlock(4711)');
    const results = await running;
    await client.query(WAIT_NO_MORE);
    return results;
  } finally {
    await client.end();
  }
}
