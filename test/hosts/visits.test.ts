import { pino } from 'pino';
import { createVisits } from '../../src/hosts/server/visits.ts';
import type { Sandboxes } from '../../src/sandbox/api/host-sandboxes.ts';
import type { SandboxRow, SandboxState } from '../../src/store/sandbox-rows.ts';
import type { Store } from '../../src/store/store.ts';

const ROUNDS = 300;

/** A number generator, so that a failure can be repeated. */
function numbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

/** A sandbox whose idle conversation now and then puts it to rest, and an engine in which everything takes some turns of the event loop. */
function world(found: SandboxState, below: (most: number) => number) {
  let state = found;
  let opening = 0;
  const someTurns = async () => {
    for (let left = below(6); left > 0; left -= 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const to = (tier: SandboxState) => async () => {
    await someTurns();
    // Work in progress keeps it awake.
    if (opening === 0) state = tier;
    return state;
  };
  const rests = { freeze: to('frozen'), hibernate: to('hibernated'), stop: to('stopped'), archive: to('archived') };
  const sandboxes = {
    ...rests,
    async open() {
      opening += 1;
      try {
        await someTurns();
        state = 'running';
        await someTurns();
        if (below(3) === 0) throw new Error('its supervisor does not answer');
        return { handle: { execs: async () => [] } };
      } finally {
        opening -= 1;
      }
    },
  } as unknown as Sandboxes;
  const row = () => ({ sandboxId: 'sbx_1', tenantId: 't', options: {}, conversationId: 'conv_1', state }) as SandboxRow;
  const store = {
    sandboxes: { get: async () => row() },
    conversations: { get: async () => ({ conversationId: 'conv_1', state: 'idle' }) },
    sandboxUses: { guestAtWork: async () => undefined },
  } as unknown as Store;
  return { store, sandboxes, row, someTurns, state: () => state };
}

test.each<SandboxState>(['frozen', 'hibernated'])(
  'a sandbox that was %s rests again after visits at any times, also where opens fail after it has woken',
  async (found) => {
    for (let seed = 1; seed <= ROUNDS; seed += 1) {
      const below = numbers(seed);
      const { someTurns, row, state, ...parts } = world(found, below);
      const visits = createVisits({ ...parts, log: pino({ level: 'silent' }), stopping: new AbortController().signal });
      const visit = async () => {
        await someTurns();
        await visits.visit('sbx_1', async () => row(), someTurns).catch(() => undefined);
      };
      await Promise.all(Array.from({ length: 1 + below(4) }, visit));
      await visits[Symbol.asyncDispose]();
      expect({ seed, state: state() }).toEqual({ seed, state: found });
    }
  },
);

test('a sandbox in which the end of the worker has cut a visit is left awake: a command may run in it', async () => {
  const { row, state, ...parts } = world('frozen', () => 1);
  const stopping = new AbortController();
  const visits = createVisits({ ...parts, log: pino({ level: 'silent' }), stopping: stopping.signal });
  await visits.visit(
    'sbx_1',
    async () => row(),
    async () => stopping.abort(),
  );
  await visits[Symbol.asyncDispose]();
  expect(state()).toBe('running');
});
