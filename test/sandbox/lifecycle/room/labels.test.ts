import type { SandboxOptions } from '../../../../src/contracts/agent.ts';
import { elsewhereOf } from '../../../../src/sandbox/api/elsewhere.ts';
import type { DockerContext } from '../../../../src/sandbox/lifecycle/base/docker-context.ts';
import { createOwnRuntimes } from '../../../../src/sandbox/lifecycle/room/own-runtimes.ts';
import { checkPlace } from '../../../../src/sandbox/lifecycle/room/place.ts';
import { checkFits } from '../../../../src/sandbox/lifecycle/room/send-away.ts';
import type { Engine, EngineFacts } from '../../../../src/sandbox/engine/engine.ts';
import type { Candidate, Wanted } from '../../../../src/store/service/fleet.ts';
import type { SandboxState } from '../../../../src/store/sandbox-rows.ts';

const GIB = 2 ** 30;
const OWNER = { sandboxId: 'sbx_1', conversationId: 'conv_1', tenantId: 'acme' };
const NEEDS: SandboxOptions = { hostLabels: ['gpu', 'zone=a'] };
const HAS = ['gpu', 'zone=a'];

interface Known {
  hostId: string;
  labels?: string[];
  isThere?: boolean;
  isDraining?: boolean;
  roomGib?: number;
  allowedGib?: number;
}

/** This host, without labels, and others. */
function world(
  others: Known[],
  {
    own = [] as string[],
    runtimes = ['runc'] as string[] | undefined,
    state,
    on = 'here',
    isLost = false,
    isDraining = false,
  }: { isDraining?: boolean; own?: string[]; runtimes?: string[] | undefined; state?: SandboxState; on?: string; isLost?: boolean } = {},
) {
  const row = state && { sandboxId: 'sbx_warm', conversationId: 'conv_1', state, hostId: on };
  const asked: Wanted[] = [];
  const free = ({ labels = [], isThere = true, isDraining = false }: Known) => isThere && !isDraining && HAS.every((label) => labels.includes(label));
  const candidates: Candidate[] = others.filter(free).map(({ hostId, roomGib, allowedGib = 4 }) => ({
    hostId,
    load: 0,
    ...(roomGib !== undefined && { allowedBytes: allowedGib * GIB, roomBytes: roomGib * GIB }),
  }));
  const waiters: unknown[] = [];
  const context = {
    hostId: 'here',
    hostLabels: own,
    pools: { templatesFor: () => [] },
    runtimes: async () => runtimes,
    hostWaitMs: 60_000,
    lostAfterMs: 30_000,
    disk: async () => undefined,
    lease: { state: () => ({ isDraining, hasOthers: others.length > 0 }) },
    hosts: { lostSince: async () => (isLost ? '2026-01-01T00:00:00.000Z' : undefined) },
    fleet: {
      candidates: async (wanted: Wanted) => {
        asked.push(wanted);
        return row && row.state !== 'archived' && row.hostId !== wanted.leaves ? [] : candidates;
      },
      hosts: async () =>
        others.map(({ hostId, labels, isThere = true, isDraining = false }) => ({
          hostId,
          isThere,
          facts: { version: '1', runtimes: ['runc'], ...(labels && { labels }) },
          ...(isDraining && { drainingSince: '2026-01-01T00:00:00.000Z' }),
        })),
    },
    rows: { get: async () => undefined, ofConversation: async () => row },
    roomQueue: {
      join: async (waiter: unknown) => {
        waiters.push(waiter);
        return { waitedMs: 0, isNew: false };
      },
    },
  };
  return { context: context as unknown as DockerContext, asked, waiters };
}

const hostOf = async (placed: Promise<unknown>) => elsewhereOf(await placed.catch((error: unknown) => error))?.host;

test.each([
  ['by a call that can be repeated there', true],
  ['by one that cannot', false],
])('a host without the labels sends it to one that has all of them, %s', async (_, mayMove) => {
  const { context, asked } = world([
    { hostId: 'half', labels: ['gpu'] },
    { hostId: 'whole', labels: ['other', 'zone=a', 'gpu'] },
  ]);
  const placed = checkPlace(context, { ...OWNER, mayMove }, NEEDS);
  expect(await hostOf(placed)).toBe('whole');
  await expect(placed).rejects.toThrow('it needs a host that has the labels gpu, zone=a, such as "whole", this is "here"; use it there');
  expect(asked).toEqual([{ sandboxId: 'sbx_1', conversationId: 'conv_1', labels: HAS }]);
});

test('a host that has them makes it itself, and asks nobody while it is alone', async () => {
  const { context, asked } = world([], { own: ['zone=a', 'gpu', 'more'] });
  await checkPlace(context, { ...OWNER, mayMove: true }, NEEDS);
  await checkPlace(context, OWNER, NEEDS);
  expect(asked).toEqual([]);
});

test('labels that no host has, or no host all of, are an error at once that says which labels there are', async () => {
  const alone = world([]);
  await expect(checkPlace(alone.context, OWNER, NEEDS)).rejects.toMatchObject({ code: 'NO_FITTING_HOST', retryable: false });
  const { context } = world([{ hostId: 'half', labels: ['gpu'] }, { hostId: 'other', labels: ['zone=a', 'gpu '] }, { hostId: 'plain' }]);
  await expect(checkPlace(context, { ...OWNER, mayMove: true }, NEEDS)).rejects.toThrow(
    'No host has all that sandbox "sbx_1" needs: the labels gpu, zone=a. The hosts have: the labels gpu, gpu , zone=a. Start a worker on a machine that has it (labels: LONGSHORE_HOST_LABELS; gVisor: longshore setup --gvisor), or correct the sandbox of its agent or template',
  );
  await expect(checkPlace(alone.context, OWNER, { hostLabels: ['gpu'] })).rejects.toThrow('needs: the label gpu. The hosts have: no labels. Start');
});

test('where those that have them are being drained or silent, it waits for them', async () => {
  const { context } = world([{ hostId: 'drained', labels: HAS, isDraining: true }, { hostId: 'silent', labels: HAS, isThere: false }, { hostId: 'plain' }]);
  const placed = checkPlace(context, { ...OWNER, mayMove: true }, NEEDS);
  await expect(placed).rejects.toMatchObject({ code: 'HOSTS_AWAY', retryable: true });
  await expect(placed).rejects.toThrow(
    'No host takes sandbox "sbx_1" now: of those that have what it needs (the labels gpu, zone=a), "drained" is being drained, "silent" has not been heard of. Start their workers, take them back (longshore hosts resume), or add another one. If a host is gone for good: longshore hosts remove',
  );
});

test('where those that have them are full, it waits in the queue of hosts with these labels; what cannot ask again waits on the emptiest', async () => {
  const { context, waiters } = world([{ hostId: 'full', labels: HAS, roomGib: 0.5 }]);
  await expect(checkPlace(context, { ...OWNER, mayMove: true }, NEEDS)).rejects.toMatchObject({ code: 'HOST_FULL' });
  expect(waiters).toMatchObject([{ waiter: 'conv_1', labels: HAS }]);
  expect(waiters[0]).not.toHaveProperty('hostId');
  expect(await hostOf(checkPlace(context, OWNER, NEEDS))).toBe('full');
});

test('what cannot ask again waits on a host that is large enough for it', async () => {
  const { context } = world([
    { hostId: 'small', labels: HAS, roomGib: 4 },
    { hostId: 'large', labels: HAS, roomGib: 0, allowedGib: 8 },
  ]);
  expect(await hostOf(checkPlace(context, OWNER, { ...NEEDS, memoryMb: 5000 }))).toBe('large');
});

test('a sandbox in use stays where it is, and so does one on another host that is there', async () => {
  const others = [{ hostId: 'whole', labels: HAS }];
  for (const state of ['creating', 'running', 'frozen', 'lost', 'destroyed'] as const) {
    expect(await checkPlace(world(others, { state }).context, OWNER, NEEDS)).toBeUndefined();
  }
  expect(await checkPlace(world(others, { state: 'stopped', on: 'plain' }).context, OWNER, NEEDS)).toBeUndefined();
});

test('one that rests here leaves for a host that has them; without such a host it stays', async () => {
  for (const state of ['stopped', 'hibernated'] as const) {
    const leaving = await checkPlace(world([{ hostId: 'whole', labels: HAS }], { state }).context, OWNER, NEEDS);
    expect(leaving?.sandboxId).toBe('sbx_warm');
    expect(elsewhereOf(leaving?.to)?.host).toBe('whole');
    expect(await checkPlace(world([{ hostId: 'half', labels: ['gpu'] }], { state }).context, OWNER, NEEDS)).toBeUndefined();
  }
});

test('one that is archived, or whose host is lost, comes back on a host that has them', async () => {
  const others = [{ hostId: 'whole', labels: HAS }];
  expect(await hostOf(checkPlace(world(others, { state: 'archived' }).context, OWNER, NEEDS))).toBe('whole');
  expect(await hostOf(checkPlace(world(others, { state: 'running', on: 'gone', isLost: true }).context, OWNER, NEEDS))).toBe('whole');
  const { context } = world([], { state: 'archived' });
  await expect(checkPlace(context, OWNER, NEEDS)).rejects.toMatchObject({ code: 'NO_FITTING_HOST' });
});

test('a call beside the worker begins here when no host can have the sandbox now, since it may need none', async () => {
  await checkFits(world([]).context, OWNER, NEEDS);
  await checkFits(world([{ hostId: 'drained', labels: HAS, isDraining: true }]).context, OWNER, NEEDS);
  expect(await hostOf(checkFits(world([{ hostId: 'whole', labels: HAS }]).context, OWNER, NEEDS))).toBe('whole');
  expect(await hostOf(checkFits(world([{ hostId: 'whole', labels: HAS }]).context, OWNER, {}))).toBeUndefined();
});

test('a call beside the worker of a host that is being drained begins on one that may have its sandbox, unless that is on a host', async () => {
  const isDraining = true;
  const others = [{ hostId: 'whole', labels: HAS }];
  expect(await hostOf(checkFits(world(others, { isDraining }).context, OWNER, {}))).toBe('whole');
  expect(await hostOf(checkFits(world(others, { isDraining, state: 'archived' }).context, OWNER, {}))).toBe('whole');
  await checkFits(world(others, { isDraining, state: 'running' }).context, OWNER, {});
  await checkFits(world([], { isDraining }).context, OWNER, {});
  // Its worker has not heard yet that the draining has ended.
  await checkFits(world([{ hostId: 'here', labels: HAS }], { isDraining }).context, OWNER, {});
});

describe('gVisor', () => {
  const GVISOR: SandboxOptions = { runtime: 'runsc' };

  test('a host without it sends the sandbox to one that has it, alone and with labels; without such a host, the error says so at once', async () => {
    const { context, asked } = world([{ hostId: 'whole', labels: HAS }]);
    expect(await hostOf(checkPlace(context, OWNER, GVISOR))).toBe('whole');
    await expect(checkPlace(context, OWNER, { ...GVISOR, hostLabels: ['gpu'] })).rejects.toThrow(
      'it needs a host that has the runtime runsc and the label gpu,',
    );
    expect(asked).toMatchObject([{ runtime: 'runsc' }, { runtime: 'runsc', labels: ['gpu'] }]);
    await expect(checkPlace(world([{ hostId: 'plain' }]).context, OWNER, GVISOR)).rejects.toThrow(
      'needs: the runtime runsc. The hosts have: the runtimes runc. Start a worker on a machine that has it',
    );
  });

  test('a host that has it makes it, and so does one whose sandboxes are no containers', async () => {
    expect(await checkPlace(world([], { runtimes: ['runc', 'runsc'] }).context, OWNER, GVISOR)).toBeUndefined();
    const local = world([]);
    Object.assign(local.context, { runtimes: async () => undefined });
    expect(await checkPlace(local.context, OWNER, GVISOR)).toBeUndefined();
  });

  test('the engine is asked once in a while, and again after it could not answer', async () => {
    let calls = 0;
    const facts = async () => {
      if ((calls += 1) === 1) throw new Error('away');
      return { runtimes: ['runc', 'runsc'] } as EngineFacts;
    };
    const runtimes = createOwnRuntimes({ facts, gvisor: {} as Engine['gvisor'] } as Pick<Engine, 'facts' | 'gvisor'>);
    await expect(runtimes()).rejects.toThrow('away');
    for (let count = 0; count < 3; count += 1) expect(await runtimes()).toEqual(['runc', 'runsc']);
    expect(calls).toBe(2);
  });
});
