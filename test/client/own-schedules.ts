import { connect, defineAgent, type Longshore } from '../../src/client.ts';
import { createTestDatabase, testInstallation, type TestDatabase } from '../support/databases.ts';

/** An installation without a worker, whose schedules are removed after the tests of a file: all of this is between the client and Temporal. */
export function useSchedules(agentIds: string[]) {
  const name = testInstallation();
  let database: TestDatabase;
  let longshore: Longshore;
  const agents = agentIds.map((id) => defineAgent({ id, model: 'scripted/none.yaml' }));
  const open = (taskQueue: string) => connect({ databaseUrl: database.url, taskQueue, agents });
  beforeAll(async () => {
    database = await createTestDatabase();
    longshore = await open(name);
  });
  afterAll(async () => {
    for (const { id } of await longshore.schedules.list()) await longshore.schedules.delete(id);
    await longshore[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  return { name, open, longshore: () => longshore, what: { agent: 'reporter', user: 'user-1', message: 'Report.' } };
}
