import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openSmallDisk } from '../../../scripts/chaos/disks/small-disk.ts';
import { mustRun, runCommand } from '../../../src/platform/run-command.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, resultsOf, until, untilEvent, type Installation } from '../support.ts';
import { LOST, secondEngine, testWithTwoEngines, titled } from './second-engine.ts';

const DISK_MB = 4096;
const LEAST = { LONGSHORE_MIN_FREE_DISK: '1g' };
const run = (command: string) => ({ call: 'shell:run', with: { command } });

/** An engine whose data is on a file system of its own. */
async function engineOnSmallDisk() {
  const disk = await openSmallDisk(DISK_MB);
  const engine = await secondEngine({ data: join(disk.directory, 'engine') });
  const filler = join(disk.directory, 'filler');
  return {
    host: engine.host,
    /** Leaves so many megabytes free. */
    async fill(freeMb: number) {
      const { stdout } = await runCommand('df', ['--output=avail', '--block-size=1', disk.directory]);
      const { size } = await stat(filler).catch(() => ({ size: 0 }));
      const bytes = `${size + Number(stdout.split('\n')[1]) - freeMb * 2 ** 20}`;
      for (const command of [
        ['fallocate', '-l', bytes, filler],
        ['truncate', '-s', bytes, filler],
      ])
        await mustRun('Filling the disk', command[0]!, command.slice(1), { fix: 'See what it says' });
    },
    free: () => rm(filler, { force: true }),
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await disk[Symbol.asyncDispose]();
    },
  };
}

const placeOf = async ({ store }: Installation, id: string) => (await store.sandboxes.ofConversation(id))?.hostId;

testWithTwoEngines(
  titled('a host whose disk is nearly full: what is there goes on, a new sandbox waits, or is made elsewhere, and it takes sandboxes again when there is disk'),
  async () => {
    await using engine = await engineOnSmallDisk();
    await using installation = await installAgents({
      works: { steps: [run('echo one > note; cat note'), { say: 'First.' }, run('echo two >> note; cat note'), { say: 'Second.' }] },
    });
    const { longshore, store } = installation;
    const start = () => longshore.start({ agent: 'works', user: 'user-1', message: 'Begin.' });
    const line = async (...args: string[]) => runLine(longshore, args, { environment: { ...installation.environment, ...LOST } });
    const untilShort = (isShort: boolean) =>
      until(async () => (await store.fleet.hosts(60_000, 'small'))[0]?.facts?.disk?.isShort === isShort, `its worker has said that it is short: ${isShort}`);
    await installation.startWorker({ ...LOST, ...LEAST, LONGSHORE_HOST_ID: 'small', DOCKER_HOST: engine.host }).ready;
    const there = await start();
    expect(await there.reply()).toBe('First.');
    expect((await line('hosts', 'ls')).out).toMatch(/^small +there +1 +\d+ of \d+ MB +\d+ of \d+ MB free /m);

    await engine.fill(700);
    await untilShort(true);
    expect((await line('hosts', 'show', 'small')).out).toMatch(/^disk of its engine: \d+ of \d+ MB free; it takes no new sandboxes before it has 1280 MB$/m);
    const waiting = await start();
    const event = await untilEvent(waiting, ({ type }) => type === 'sandbox.waiting');
    expect(event.data).toEqual({ neededMb: 1024, host: 'small', promisedMb: 0, allowedMb: 0, ahead: 0, disk: { freeMb: expect.any(Number), leastMb: 1280 } });
    expect((await waiting.status()).waitsForRoom).toMatchObject({ disk: { leastMb: 1280 } });
    expect((await line('show', waiting.id)).out).toMatch(/its sandbox waits for disk: host small has \d+ MB free, and takes new sandboxes again with 1280 MB/);
    await there.send('Go on.');
    expect(await there.reply()).toBe('Second.');
    expect((await resultsOf(there)).at(-1)).toMatchObject({ stdout: 'one\ntwo\n' });

    // More than the limit, and not so much that it takes sandboxes again.
    await engine.fill(1150);
    await until(async () => ((await store.fleet.hosts(60_000, 'small'))[0]?.facts?.disk?.freeBytes ?? 0) > 1100 * 2 ** 20, 'it has said so');
    expect((await waiting.status()).waitsForRoom).toMatchObject({ disk: { leastMb: 1280 } });
    await engine.fill(700);

    const first = installation.startWorker({ ...LOST, ...LEAST, LONGSHORE_HOST_ID: 'first' });
    await first.ready;
    expect(await waiting.reply()).toBe('First.');
    expect(await placeOf(installation, waiting.id)).toBe('first');
    expect(await waiting.status()).not.toHaveProperty('waitsForRoom');
    await untilShort(true);
    const others = await Promise.all(Array.from({ length: 2 }, start));
    for (const chat of others) {
      expect(await chat.reply()).toBe('First.');
      expect(await placeOf(installation, chat.id)).toBe('first');
    }

    await engine.free();
    await untilShort(false);
    expect((await line('hosts', 'drain', 'first')).code).toBe(0);
    await waiting.send('Go on.');
    expect(await waiting.reply()).toBe('Second.');
    expect(await placeOf(installation, waiting.id)).toBe('small');
    for (const chat of [there, waiting, ...others]) await chat.close();
    await until(async () => (await store.sandboxes.list({ states: ['running', 'frozen', 'stopped', 'archived'] })).length === 0, 'all are gone');
  },
  300_000,
);
