import type { Agent } from '../../src/contracts/agent.ts';
import { failure } from '../../src/contracts/errors.ts';
import { createLogger } from '../../src/platform/log.ts';
import type { BackUpOptions, Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import type { BackupRows, DueBackup } from '../../src/store/blobs/backups.ts';
import type { Store } from '../../src/store/store.ts';
import { startBackups } from '../../src/worker/keep-backups.ts';

/** A host with sandboxes of which backups are due, in the order in which they are; and what becomes of them. */
function host(
  due: DueBackup[],
  backUp: (sandboxId: string, options: BackUpOptions) => Promise<'stored' | 'superseded'>,
  { freeze, ...rows }: { sandboxes?: object; sandboxUses?: object; conversations?: object; freeze?: Sandboxes['freeze'] } = {},
) {
  const told: string[] = [];
  const waiting = [...due];
  const backups: Partial<BackupRows> = {
    due: async () => [...waiting],
    begin: async (sandboxId) => {
      waiting.splice(
        waiting.findIndex((each) => each.sandboxId === sandboxId),
        1,
      );
      return { sandboxId, beganAt: 'now' };
    },
    fail: async ({ sandboxId }, problem, afterMs) => void told.push(`${sandboxId} failed: ${problem}; again after ${afterMs}`),
    release: async ({ sandboxId }, afterMs) => void told.push(`${sandboxId} given up for ${afterMs}`),
  };
  const sandboxes: Partial<Sandboxes> = {
    ...(freeze && { freeze }),
    backUp: async ({ sandboxId }, options) => {
      const outcome = await backUp(sandboxId, options);
      told.push(`${sandboxId} ${outcome}`);
      return outcome;
    },
  };
  const started = startBackups({
    store: { backups, sandboxes: { get: async () => undefined }, ...rows } as unknown as Store,
    sandboxes: sandboxes as Sandboxes,
    agents: new Map([
      ['rewinder', { checkpoints: 'turn' } as Agent],
      ['plain', {} as Agent],
    ]),
    hostId: 'here',
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
  });
  return { stop: () => started.stop(), told, waiting };
}

async function until(question: () => boolean): Promise<void> {
  while (!question()) await new Promise((resolve) => setTimeout(resolve, 5));
}
const running = (sandboxId: string, agentId?: string): DueBackup => ({ sandboxId, state: 'running', ...(agentId !== undefined && { agentId }) });

test('what fails is said and tried again, at growing intervals; others go on meanwhile', async () => {
  const { told, stop, waiting } = host([running('bad'), running('good')], async (sandboxId) => {
    if (sandboxId === 'bad') throw new Error('the store is away');
    return 'stored';
  });
  await until(() => told.length === 2);
  waiting.push(running('bad'));
  await until(() => told.length === 3);
  await stop();
  expect(told.toSorted()).toEqual(['bad failed: the store is away; again after 10000', 'bad failed: the store is away; again after 5000', 'good stored']);
});

test('one for which its host has no memory now is no failure, and is tried again at growing intervals', async () => {
  const { told, stop, waiting } = host([running('full')], async (sandboxId) => {
    throw failure('HOST_FULL', { sandboxId, neededMb: 1, host: 'here', promisedMb: 1, allowedMb: 1, ahead: 0 });
  });
  await until(() => told.length === 1);
  waiting.push(running('full'));
  await until(() => told.length === 2);
  await stop();
  expect(told).toEqual(['full given up for 5000', 'full given up for 10000']);
});

test('a sandbox in which no sub-agent works is put to rest after its backup when it has been idle for long enough by the clock of Postgres, whatever the one of the host says', async () => {
  const frozen: string[] = [];
  const rows = {
    fresh: { idleMs: 100, lastUsedAt: '2000-01-01T00:00:00.000Z' },
    shared: { idleMs: 60_000, lastUsedAt: '2100-01-01T00:00:00.000Z' },
    idle: { idleMs: 60_000, lastUsedAt: '2100-01-01T00:00:00.000Z' },
  };
  const get = async (sandboxId: keyof typeof rows) => ({ sandboxId, conversationId: sandboxId, state: 'running', options: {}, ...rows[sandboxId] });
  const { told, stop } = host([running('fresh'), running('shared'), running('idle')], async () => 'stored', {
    sandboxes: { get },
    sandboxUses: { guestAtWork: async (owner: string) => (owner === 'shared' ? 'guest' : undefined) },
    conversations: { get: async (conversationId: string) => ({ conversationId, state: 'idle' }) },
    freeze: async (sandboxId) => {
      frozen.push(sandboxId);
      return 'frozen';
    },
  });
  await until(() => told.length === 3 && frozen.length > 0);
  await stop();
  expect(frozen).toEqual(['idle']);
});

test('checkpoints that an agent keeps to go back to stay; others are not kept', async () => {
  const kept: Record<string, number> = {};
  const { told, stop } = host([running('a', 'plain'), running('b', 'rewinder'), running('c'), running('d', 'unknown')], async (sandboxId, { keep }) => {
    kept[sandboxId] = keep;
    return 'stored';
  });
  await until(() => told.length === 4);
  await stop();
  expect(kept).toEqual({ a: 1, b: 22, c: 22, d: 22 });
});

test('two are at work at once; a stop ends them, and is no failure', async () => {
  let most = 0;
  let now = 0;
  const { told, stop } = host([running('a'), running('b'), running('c')], async (_sandboxId, { signal }) => {
    most = Math.max(most, (now += 1));
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    return 'stored';
  });
  await until(() => now === 2);
  await stop();
  expect({ most, told: told.toSorted() }).toEqual({ most: 2, told: ['a given up for 0', 'b given up for 0'] });
});

test('a container that was replaced meanwhile is left alone for a moment', async () => {
  const { told, stop } = host([running('a')], async () => 'superseded');
  await until(() => told.length === 2);
  await stop();
  expect(told).toEqual(['a superseded', 'a given up for 5000']);
});
