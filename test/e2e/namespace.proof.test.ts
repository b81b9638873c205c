import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { runDoctor } from '../../src/cli/machine/doctor.ts';
import { connect } from '../../src/client.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { runLine } from '../cli/support.ts';
import { install } from './support.ts';

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

/** A namespace of the test's own on the shared server; its id there. */
async function registerNamespace(name: string): Promise<string> {
  const connection = await Connection.connect({ address: before['TEMPORAL_ADDRESS'] ?? '' });
  try {
    await connection.workflowService.registerNamespace({ namespace: name, workflowExecutionRetentionPeriod: msToTs('1 day') });
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace: name });
    return namespaceInfo?.id ?? '';
  } finally {
    await connection.close();
  }
}

test('a worker, a client and a setup on another namespace refuse the database, whose conversations stay open, until it is moved there', async () => {
  await using installation = await install([{ say: 'Hello.' }, { say: 'Still here.' }]);
  const { longshore, store, environment, name } = installation;
  const worker = installation.startWorker();
  await worker.ready;
  const chat = await longshore.start({ agent: 'scripted', user: 'user-1', message: 'Hi' });
  expect(await chat.reply()).toBe('Hello.');
  await worker.kill();

  const id = await registerNamespace(name);
  const here = await store.temporalHome.claim({ name: 'other' });
  expect(here).toEqual({ name: 'default', id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string });
  const refusal = `The database belongs to the Temporal namespace "default" (${here.id}); ${before['TEMPORAL_ADDRESS']} has "${name}" (${id}), where its conversations have no workflows.`;
  const { DATABASE_URL: databaseUrl = '' } = environment;
  environment['TEMPORAL_NAMESPACE'] = name;
  await expect(installation.startWorker().ready).rejects.toThrow(refusal);
  await expect(connect({ databaseUrl, temporalNamespace: name })).rejects.toMatchObject({ code: 'DATABASE_ELSEWHERE' });
  Object.assign(process.env, { DATABASE_URL: databaseUrl, TEMPORAL_NAMESPACE: name });
  expect(await runLine(undefined, ['setup'])).toMatchObject({ code: 1, err: expect.stringContaining(refusal) as string });
  expect(await longshore.status(chat)).toMatchObject({ state: 'idle' });

  delete environment['TEMPORAL_NAMESPACE'];
  await installation.startWorker().ready;
  await chat.send('And now?');
  expect(await chat.reply()).toBe('Still here.');
  await chat.close();

  expect((await runLine(undefined, ['setup', '--move-database'])).out).toContain(`Postgres: the database belongs to the Temporal namespace "${name}".\n`);
  expect(await store.temporalHome.claim({ name: 'other' })).toEqual({ name, id });
  // A namespace of the same name on another server is another one; a server that does not tell is believed.
  expect(await store.temporalHome.claim({ name, id: 'another' })).toEqual({ name, id });
}, 300_000);

test('a worker refuses a namespace without the search attributes that conversations set, and says what to run; setup adds them, and may be repeated', async () => {
  await using installation = await install([{ say: 'Hello.' }]);
  const { environment, name, store } = installation;
  const namespace = `${name}-bare`;
  await store.temporalHome.move({ name: namespace, id: await registerNamespace(namespace) });
  environment['TEMPORAL_NAMESPACE'] = namespace;
  const refusal =
    `The namespace "${namespace}" of Temporal at ${before['TEMPORAL_ADDRESS']} lacks search attributes of this version: ` +
    'AgentId, UserId, TenantId, ConversationState, SandboxTier, AwaitingApproval, WaitingSince, CostUsd, ParentId. Register them, which may be repeated: longshore setup';
  await expect(installation.startWorker().ready).rejects.toThrow(refusal);
  const doctor = (await runDoctor(loadConfig({ ...environment, LONGSHORE_RETENTION: '1h' }))).filter(({ ok }) => ok !== 'ok');
  expect(doctor).toContainEqual(
    expect.objectContaining({
      name: 'Search attributes',
      ok: 'missing',
      found: expect.stringMatching(/^missing: AgentId, .*ParentId$/) as string,
      todo: 'Register them: longshore setup',
    }),
  );
  expect(doctor).toContainEqual(
    expect.objectContaining({ name: 'Retention', ok: 'warning', found: 'Temporal keeps histories for 1 days after the end; conversations are kept for 1h' }),
  );
  Object.assign(process.env, { DATABASE_URL: environment['DATABASE_URL'], TEMPORAL_NAMESPACE: namespace });
  expect((await runLine(undefined, ['setup'])).out).toContain('Temporal: search attributes registered: AgentId, ');
  expect((await runLine(undefined, ['setup'])).out).toContain('Temporal: search attributes exist already.');
  await installation.startWorker().ready;
}, 300_000);
