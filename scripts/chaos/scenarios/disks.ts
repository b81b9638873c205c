import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOwnEngine, whyNoOwnEngine } from '../../own-engine.ts';
import { createAsker } from '../ask.ts';
import { problemsWithFullDisks } from '../disks/problems-with-full-disks.ts';
import { openSmallDisk, whyNoSmallDisk, type SmallDisk } from '../disks/small-disk.ts';
import { openHost, type ChaosHost } from '../hosts/open-hosts.ts';
import { KINDS, STORED } from '../kinds/kinds.ts';
import { describeRecovery, judgeRecovery, measureRecovery } from '../measure-recovery.ts';
import { play } from '../play.ts';
import { between } from '../random.ts';
import type { Run, Scenario } from '../scenario.ts';
import { seconds } from '../seconds.ts';
import { strangeEffects } from '../strange-effects.ts';
import type { World } from '../world.ts';

const LANES = 4;
const CONVERSATION_LIMIT_MS = 300_000;
const POSTGRES_MB = 300;
/** The image takes most of it. */
const HOST_MB = 1_200;
const QUIET_MS = [4_000, 9_000] as const;
const FULL_MS = [3_000, 20_000] as const;
const FAULTS = {
  host: 'the disk of the host was full',
  data: 'the disk of Postgres was full',
  log: 'the disk of Postgres was full, and its log used up',
};
/** More than it keeps for later use. */
const SEGMENTS = 20;
const RECOVERY_LIMIT_MS = 20_000;
const CLOSING_MS = 30_000;

export const disks: Scenario = {
  summary: 'The disk of Postgres, or that of a host with its engine, its archives and the files of its worker, is full for up to 20 s.',
  minutes: 4,
  rules: ['lost', 'doubled', 'transcript', 'result', 'reported', 'told', 'recovery'],
  spares: false,
  workers: 0,
  postgresDiskMb: POSTGRES_MB,
  missing: async () => (await whyNoSmallDisk()) ?? (await whyNoOwnEngine()),
  async run(world, { verdict, say, minutes }) {
    const disk = await world.owned(() => openSmallDisk(HOST_MB));
    const orphans: string[] = [];
    const host = await openOn(disk, world, orphans);
    const over = AbortSignal.timeout(minutes * 60_000);
    const filling = fillAtRandom(world, disk, over, { verdict, say });
    const options = { lanes: LANES, over, limitMs: CONVERSATION_LIMIT_MS, kinds: { ...KINDS, ...STORED }, problemsOf: problemsWithFullDisks };
    const { conversations, calls, events } = await play(world, verdict, options);
    const { times, restarts, told } = await filling;
    verdict.add(...(await strangeEffects(world)));
    for (const end = Date.now() + CLOSING_MS; (await world.workflows.count(`ExecutionStatus = 'Running'`)).count > 0 && Date.now() < end;) await sleep(500);
    verdict.add(...(await host.stop()).map((what) => ({ rule: 'left' as const, what })));
    world.alsoGone(orphans);
    say(`callers were told meanwhile: ${told}`);
    say(`${times} times a disk was full, and Postgres ended ${restarts} times; ${conversations} conversations had ${calls} calls and ${events} events`);
  },
};

/** All that a host writes is on one disk. */
async function openOn(disk: SmallDisk, world: World, orphans: string[]): Promise<ChaosHost> {
  const engine = await world.owned(() => createOwnEngine({ data: join(disk.directory, 'engine') }));
  await engine.start({ liveRestore: false });
  await engine.takeImage(world.config.LONGSHORE_SANDBOX_IMAGE);
  const settings = {
    LONGSHORE_HOME: join(disk.directory, 'home'),
    LONGSHORE_BLOBS: `file://${join(disk.directory, 'blobs')}`,
    // Sandboxes are made while the disk is full, too.
    LONGSHORE_MIN_FREE_DISK: 'off',
  };
  return openHost(world, { id: 'small', orphans, engine, settings });
}

interface Filled {
  times: number;
  restarts: number;
  /** What a client was told, and how often. */
  told: string;
}

async function fillAtRandom(world: World, hostDisk: SmallDisk, over: AbortSignal, { verdict, say }: Pick<Run, 'verdict' | 'say'>): Promise<Filled> {
  const { faults: random } = world.random;
  const filled = { times: 0, restarts: 0 };
  const asker = createAsker(world, verdict);
  const left: (keyof typeof FAULTS)[] = [];
  for (;;) {
    await sleep(between(random, ...QUIET_MS), undefined, { signal: over }).catch(() => undefined);
    if (over.aborted) return { ...filled, told: asker.told() };
    // All of them in a random order, then again in another one.
    if (left.length === 0) left.push('host', 'data', 'log');
    const [fault = 'host'] = left.splice(Math.floor(random() * left.length), 1);
    const disk = fault === 'host' ? hostDisk : world.postgresDisk!;
    const lengthMs = between(random, ...FULL_MS);
    await disk.fill();
    if (fault === 'log') await useUpLog(world);
    await asker.askFor(lengthMs);
    await disk.free();
    filled.times += 1;
    const hasEnded = await world.restartPostgres();
    filled.restarts += hasEnded ? 1 : 0;
    const [recovery] = await Promise.all([measureRecovery(world), asker.askAgain()]);
    const what = `${FAULTS[fault]} for ${seconds(lengthMs)}${hasEnded ? ', and Postgres ended' : ''}`;
    say(`${what}: ${describeRecovery(recovery)}`);
    judgeRecovery(verdict, recovery, { limitMs: RECOVERY_LIMIT_MS, after: what });
  }
}

/** Where there is no room for its log of transactions, Postgres ends all sessions, and itself when it cannot start again. */
async function useUpLog({ records }: World): Promise<void> {
  const write = `select pg_logical_emit_message(true, 'chaos', 'full'), pg_switch_wal()`;
  for (let tries = 0; tries < SEGMENTS; tries += 1) {
    const isAway = await records.query(write).then(
      () => false,
      () => true,
    );
    if (isAway) return;
  }
}
