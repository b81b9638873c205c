import { createLogger } from '../../../../src/platform/log.ts';
import { roomText } from '../../../../src/contracts/hosts/room.ts';
import { elsewhereOf } from '../../../../src/sandbox/api/elsewhere.ts';
import { untilRoom } from '../../../../src/sandbox/api/until-room.ts';
import type { DockerContext } from '../../../../src/sandbox/lifecycle/base/docker-context.ts';
import { createOwnDisk, judgeDisk } from '../../../../src/sandbox/lifecycle/room/own-disk.ts';
import { checkPlace } from '../../../../src/sandbox/lifecycle/room/place.ts';
import { checkDisk } from '../../../../src/sandbox/lifecycle/room/wait-for-disk.ts';
import type { RoomWaiter } from '../../../../src/store/conversation/room-queue.ts';
import type { SandboxState } from '../../../../src/store/sandbox-rows.ts';
import type { Candidate, HostDisk } from '../../../../src/store/service/fleet.ts';

const MIB = 2 ** 20;
const OWNER = { sandboxId: 'sbx_1', conversationId: 'conv_1', tenantId: 'acme' };
const SHORT: HostDisk = { freeBytes: 900 * MIB, totalBytes: 20_000 * MIB, againBytes: 1280 * MIB, isShort: true };
const ENOUGH: HostDisk = { ...SHORT, freeBytes: 5000 * MIB, isShort: false };
const WAITS = { neededMb: 1024, host: 'here', promisedMb: 0, allowedMb: 0, ahead: 0, disk: { freeMb: 900, leastMb: 1280 } };

interface Given {
  /** What this process measures. */
  own?: HostDisk;
  candidates?: Candidate[];
  state?: SandboxState;
  waitedMs?: number;
  labels?: string[];
}

function world({ own, candidates = [], state, waitedMs = 0, labels = [] }: Given) {
  const row = state && { ...OWNER, state, hostId: 'here' };
  const waiters: RoomWaiter[] = [];
  const calls: string[] = [];
  const said: [string, HostDisk][] = [];
  const context = {
    hostId: 'here',
    hostLabels: labels,
    runtimes: async () => ['runc'],
    pools: { templatesFor: () => [] },
    hostWaitMs: 60_000,
    lostAfterMs: 30_000,
    log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }),
    disk: async () => own,
    lease: { state: () => ({ isDraining: false, hasOthers: candidates.length > 0 }) },
    fleet: {
      candidates: async () => (row && row.state !== 'archived' ? [] : candidates.toSorted((one, two) => one.load - two.load)),
      hosts: async () => [],
      noteDisk: async (hostId: string, disk: HostDisk) => void said.push([hostId, disk]),
    },
    rows: { get: async () => undefined, ofConversation: async () => row },
    roomQueue: {
      join: async (waiter: RoomWaiter) => {
        waiters.push(waiter);
        return { waitedMs, isNew: true };
      },
      told: async () => undefined,
      leave: async (waiter: string) => void calls.push(`leave ${waiter}`),
    },
    events: { append: async (_: string, [event]: { type: string; data: unknown }[]) => void calls.push(`${event?.type} ${JSON.stringify(event?.data)}`) },
  };
  return { context: context as unknown as DockerContext, waiters, calls, said };
}

const MOVING = { ...OWNER, mayMove: true } as const;
const candidate = (hostId: string, load: number, shortDisk?: HostDisk): Candidate => ({ hostId, load, ...(shortDisk && { shortDisk }) });
const hostOf = async (placed: Promise<unknown>) => elsewhereOf(await placed.catch((error: unknown) => error))?.host;

test.each([
  ['1g', 1024, 1280],
  ['5%', 1000, 1250],
])('with %s, a host is short of disk below %d MB, and takes sandboxes again with %d MB', (setting, leastMb, againMb) => {
  const judged = (freeMb: number, wasShort: boolean) => judgeDisk({ freeBytes: freeMb * MIB, totalBytes: 20_000 * MIB }, setting, wasShort);
  expect(judged(leastMb, false)).toEqual({ freeBytes: leastMb * MIB, totalBytes: 20_000 * MIB, againBytes: againMb * MIB, isShort: false });
  expect(judged(leastMb - 1, false).isShort).toBe(true);
  expect(judged(againMb, true).isShort).toBe(false);
  expect(judged(againMb - 1, true).isShort).toBe(true);
  expect(judgeDisk({ freeBytes: 0, totalBytes: MIB }, 'off', true).isShort).toBe(false);
});

test('a disk that is used up to and fro around the limit is short once, until much is free; one that is not seen is not known', async () => {
  const frees = [1100, 1023, 1100, 1279, 1280, 1100];
  let now = 0;
  const disk = createOwnDisk({ disk: async () => ({ freeBytes: frees.shift()! * MIB, totalBytes: 20_000 * MIB }) }, '1g', () => now);
  const said: (boolean | undefined)[] = [];
  for (let count = frees.length; count > 0; count -= 1, now += 10_000) said.push((await disk())?.isShort);
  expect(said).toEqual([false, true, true, true, false, false]);
  now -= 10_000;
  expect((await disk())?.freeBytes).toBe(1100 * MIB);
  expect(await createOwnDisk({ disk: async () => undefined }, '1g')()).toBeUndefined();
  expect(await createOwnDisk({}, '1g')()).toBeUndefined();
});

test('a host that is short of disk sends a new and an archived sandbox elsewhere, and is sent none; the others are made where they are', async () => {
  const both = [candidate('here', 0), candidate('other', 0.9)];
  for (const state of [undefined, 'archived'] as const)
    expect(await hostOf(checkPlace(world({ own: SHORT, candidates: both, ...(state && { state }) }).context, MOVING, {}))).toBe('other');
  const others = [candidate('full', 0, SHORT), candidate('here', 0.9)];
  expect(await checkPlace(world({ own: ENOUGH, candidates: others }).context, MOVING, {})).toBeUndefined();
  // What the host has said of itself is older.
  expect(await checkPlace(world({ own: ENOUGH, candidates: [candidate('here', 0, SHORT)] }).context, MOVING, {})).toBeUndefined();
  for (const state of ['running', 'frozen', 'stopped', 'hibernated', 'lost'] as const) {
    expect(await checkPlace(world({ own: SHORT, state }).context, OWNER, {})).toBeUndefined();
    expect(await checkPlace(world({ own: SHORT, candidates: both, state }).context, MOVING, {})).toBeUndefined();
  }
});

test('a sandbox that is sent to a host which has just become short of disk is not sent to and fro: other hosts learn of it at once', async () => {
  const [here, other] = [candidate('here', 0), candidate('other', 0.9)];
  const { context, said } = world({ own: SHORT, candidates: [here, other] });
  const asked = world({ own: ENOUGH, candidates: [other, here] });
  Object.assign(asked.context, { hostId: 'other' });
  expect(await hostOf(checkPlace(asked.context, MOVING, {}))).toBe('here');
  expect(await hostOf(checkPlace(context, MOVING, {}))).toBe('other');
  expect(said).toEqual([['here', SHORT]]);
  Object.assign(here, { shortDisk: said[0]?.[1] });
  expect(await checkPlace(asked.context, MOVING, {})).toBeUndefined();
  // It is known by now.
  expect(await hostOf(checkPlace(context, MOVING, {}))).toBe('other');
  expect([...said, ...asked.said]).toHaveLength(1);
});

test.each([
  ['is alone', {}, OWNER],
  ['has only others that are short, too', { candidates: [candidate('here', 0), candidate('other', 0, SHORT)] }, MOVING],
  ['is asked by a program', { candidates: [candidate('other', 0)] }, OWNER],
])('where the host %s, the call waits in the queue and is told that it is for disk', async (_, given, owner) => {
  const { context, waiters, calls } = world({ own: SHORT, ...given });
  await expect(checkPlace(context, owner, {})).rejects.toMatchObject({
    code: 'HOST_DISK_FULL',
    retryable: true,
    values: { retryAfterMs: 1000 },
    message:
      'No host has disk for sandbox "sbx_1" now: "here" has 900 MB free, and takes new sandboxes again with 1280 MB (LONGSHORE_MIN_FREE_DISK). A call of a conversation goes on when there is disk; try anything else again',
  });
  expect(waiters).toEqual([{ waiter: 'conv_1', conversationId: 'conv_1', tenantId: 'acme', waits: WAITS }]);
  expect(calls).toEqual([`sandbox.waiting ${JSON.stringify(WAITS)}`]);
  expect(roomText(WAITS)).toBe('waits for disk: host here has 900 MB free, and takes new sandboxes again with 1280 MB');
});

test('hosts with the labels that are short of disk are waited for', async () => {
  const { context, waiters } = world({ own: ENOUGH, candidates: [candidate('gpu-1', 0, SHORT)] });
  await expect(checkPlace(context, MOVING, { hostLabels: ['gpu'] })).rejects.toMatchObject({ code: 'HOST_DISK_FULL', values: { host: 'gpu-1' } });
  expect(waiters).toMatchObject([{ labels: ['gpu'], waits: { host: 'gpu-1' } }]);
});

test('the longest wait ends with an error that says what to do', async () => {
  const { context, calls } = world({ own: SHORT, waitedMs: 60_000 });
  await expect(checkDisk(context, OWNER, {})).rejects.toMatchObject({
    code: 'HOST_DISK_WAIT_OVER',
    retryable: false,
    message:
      'Sandbox "sbx_1" has waited 60 s for disk (LONGSHORE_HOST_WAIT): host "here" has 900 MB free, and takes new sandboxes again with 1280 MB. Remove unused images, snapshots and sandboxes there (docker system df), add a host, or lower LONGSHORE_MIN_FREE_DISK',
  });
  expect(calls).toEqual(['leave conv_1']);
});

test('a program that cannot come again waits until there is disk', async () => {
  const disks = [SHORT, ENOUGH];
  const { context } = world({ waitedMs: 59_999 });
  context.disk = async () => disks.shift();
  await untilRoom(() => checkDisk(context, OWNER, {}));
  expect(disks).toEqual([]);
});
