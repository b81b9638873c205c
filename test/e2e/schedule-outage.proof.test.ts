import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { loadConfig } from '../../src/platform/config.ts';
import { freePort } from '../../src/setup/ports.ts';
import { ensureTemporalCli } from '../../src/setup/temporal-cli.ts';
import { startTemporal, type TemporalOptions } from '../../src/setup/temporal.ts';
import { install, until } from './support.ts';

let directory: string;
let options: TemporalOptions;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-outage-'));
  const program = await ensureTemporalCli({ home: loadConfig().LONGSHORE_HOME, log: () => undefined });
  options = { program, port: await freePort(), namespace: 'default', stateDir: directory, databaseFile: join(directory, 'temporal.db') };
});
afterAll(() => rm(directory, { recursive: true }));

/** Long enough to stop the server before the time comes. */
const SOON_MS = 8000;

test('a run missed while the server was down is caught up (unlike a scheduler in process)', async () => {
  const first = await startTemporal(options);
  const ends = [first.stop];
  // The client and the worker of this file find their server here.
  process.env['TEMPORAL_ADDRESS'] = first.address;
  try {
    await using installation = await install([{ say: 'Better late.' }]);
    const { schedules } = installation.longshore;
    const dueMs = Math.ceil((Date.now() + SOON_MS) / 1000) * 1000;
    const at = new Date(dueMs).toISOString();
    const { id } = await schedules.create({ id: `late-${installation.name}`, agent: 'scripted', user: 'user-1', message: 'Begin.', at });
    await first.stop();
    await until(async () => Date.now() > dueMs, 'the run is due while no server runs');
    const backAt = Date.now();
    const second = await startTemporal(options);
    ends.push(second.stop);
    await installation.startWorker().ready;
    const runs = async () => (await schedules.get(id)).runs;
    await until(async () => (await runs())[0]?.outcome === 'started', 'the run is caught up');
    const [run] = await runs();
    expect(run).toMatchObject({ at, conversationId: `conv_${id}-${at.slice(0, 19).replaceAll(/[-:]/g, '')}Z` });
    expect(await installation.longshore.reply(run?.conversationId ?? '')).toBe('Better late.');
    expect(await takenMs(second.address, id)).toBeGreaterThan(backAt);
    expect(await schedules.get(id)).toMatchObject({ timing: { kind: 'at', at }, nextAt: [], missedRuns: 0 });
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}, 400_000);

/** When the server began the schedule's last run. */
async function takenMs(address: string, scheduleId: string): Promise<number> {
  const connection = await Connection.connect({ address });
  try {
    const { info } = await new Client({ connection }).schedule.getHandle(scheduleId).describe();
    return Number(info.recentActions.at(-1)?.takenAt);
  } finally {
    await connection.close();
  }
}
