import * as fc from 'fast-check';
import type { CallResult } from '../../src/store/tool-call-rows.ts';
import type { SandboxRow } from '../../src/store/sandbox-rows.ts';
import type { Store } from '../../src/store/store.ts';
import { newCall, newConversation, newId, useTestStore } from './support.ts';

let store: Store;
useTestStore((opened) => ({ store } = opened));

const done: CallResult = { state: 'finished', content: [{ type: 'text', text: 'done' }], isError: false };

function newSandbox(sandboxId = newId('sbx')) {
  const names = { containerName: `c-${sandboxId}`, volumeName: `v-${sandboxId}` };
  return { sandboxId, tenantId: 'default', state: 'creating' as const, hostId: 'host-1', options: {}, ...names };
}

/** As a worker that makes a container in the place of another: draws a number and tries to write it into the row. */
async function supersede({ sandboxId, generation }: SandboxRow, more: { volumeName?: string; filesLost?: boolean } = {}): Promise<SandboxRow | undefined> {
  return store.sandboxes.change(sandboxId, generation, { state: 'lost', fence: await store.sandboxes.drawFence(), ...more });
}

test('a row has a number from the beginning; a later container has a higher one, and is not known yet', async () => {
  const made = await store.sandboxes.ensure(newSandbox());
  const running = (await store.sandboxes.change(made.sandboxId, 1, { state: 'running', containerId: 'first' }))!;
  expect(running).toMatchObject({ fence: made.fence, containerId: 'first' });
  const next = (await supersede(running))!;
  expect(next.fence).toBeGreaterThan(running.fence);
  expect(next.containerId).toBeUndefined();
  const given = await store.sandboxes.change(next.sandboxId, next.generation, { state: 'hibernated', fence: next.fence + 1, containerId: 'third' });
  expect(given).toMatchObject({ fence: next.fence + 1, containerId: 'third' });
});

test('a row that is made again under the same id has a higher number than the one before', async () => {
  const { sandboxId, fence } = await store.sandboxes.ensure(newSandbox());
  await store.sandboxes.remove(sandboxId);
  expect((await store.sandboxes.ensure(newSandbox(sandboxId))).fence).toBeGreaterThan(fence);
});

test('who has seen a row that was removed since does not change the one that was made again with the same id and generation', async () => {
  const { sandboxId, generation, fence } = await store.sandboxes.ensure(newSandbox());
  await store.sandboxes.withdraw(sandboxId, generation);
  const again = await store.sandboxes.ensure(newSandbox(sandboxId));
  expect(again.generation).toBe(generation);
  expect(await store.sandboxes.change(sandboxId, generation, { state: 'running', seenFence: fence, containerId: 'old' })).toBeUndefined();
  expect(await store.sandboxes.get(sandboxId)).toEqual({ ...again, idleMs: expect.any(Number) });
  const running = await store.sandboxes.change(sandboxId, generation, { state: 'running', seenFence: again.fence, containerId: 'new' });
  expect(running).toMatchObject({ fence: again.fence, containerId: 'new' });
});

test('in whatever order many workers draw numbers and write them: one of them wins each time, and the number only rises', async () => {
  const step = fc.record({ worker: fc.integer({ min: 0, max: 3 }), act: fc.constantFrom('read', 'write', 'settle') });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }), async (rounds) => {
      const { sandboxId } = await store.sandboxes.ensure(newSandbox());
      const seen = Array.from({ length: 4 }, (): SandboxRow | undefined => undefined);
      const numbers = [(await store.sandboxes.get(sandboxId))!.fence];
      // The steps of one round run at the same time.
      for (const round of rounds) {
        const outcomes = await Promise.all(
          round.map(async ({ worker, act }) => {
            if (act === 'read') seen[worker] = await store.sandboxes.get(sandboxId);
            const known = seen[worker];
            if (act === 'read' || !known) return undefined;
            const changed = act === 'write' ? await supersede(known) : await store.sandboxes.change(sandboxId, known.generation, { state: 'running' });
            return changed && { from: known, changed };
          }),
        );
        for (const outcome of outcomes.filter((each) => each !== undefined).toSorted((a, b) => a.from.generation - b.from.generation)) {
          expect(outcome.changed.generation).toBe(outcome.from.generation + 1);
          expect(outcome.changed.fence).toBeGreaterThanOrEqual(outcome.from.fence);
          expect(outcome.from.fence).toBe(numbers.at(-1));
          numbers.push(outcome.changed.fence);
        }
      }
      expect((await store.sandboxes.get(sandboxId))!.fence).toBe(numbers.at(-1));
    }),
    { numRuns: 40, seed: 4711 },
  );
});

describe('what comes from a container', () => {
  async function worked() {
    const conversationId = await newConversation(store);
    const row = await store.sandboxes.ensure(newSandbox());
    const call = await newCall(store, conversationId);
    const { sandboxId, fence } = row;
    return { row, call, conversationId, from: { sandboxId, fence } };
  }

  test('counts while the sandbox has the files of that container, also when another one has them by now', async () => {
    const { row, call, from } = await worked();
    await store.toolCalls.claim(call.callId, call.hash);
    await supersede(row);
    expect(await store.toolCalls.settle(call.callId, 1, done, [], from)).toBe(true);
  });

  test.each([
    ['lost', { filesLost: true }],
    ['moved', { volumeName: 'v-2' }],
  ])('does not count when the files are %s: the result is not stored, and the call still runs', async (_what, more) => {
    const { row, call, conversationId, from } = await worked();
    await store.toolCalls.claim(call.callId, call.hash);
    const next = (await supersede(row, more))!;
    expect(await store.toolCalls.settle(call.callId, 1, done, [{ type: 'tool.finished', turnId: 'turn_1', data: {} }], from)).toBe(false);
    expect(await store.toolCalls.get(call.callId)).toMatchObject({ state: 'running', fence: 1 });
    expect(await store.transcript.read(conversationId)).toEqual([]);
    expect((await store.events.read(conversationId, 1)).map(({ type }) => type)).toEqual([]);
    expect(await store.toolCalls.settle(call.callId, 1, done, [], { sandboxId: row.sandboxId, fence: next.fence })).toBe(true);
  });

  test('its code can no longer call tools when the files are lost, neither new calls nor ones it has made', async () => {
    const { row, call, from } = await worked();
    const method = (number: number) => ({ ...call, callId: `${call.callId}-1:${number}`, number, parentCallId: call.callId, from });
    await store.toolCalls.proposeMethod(method(1), []);
    await supersede(row, { filesLost: true });
    const refusal = { code: 'SANDBOX_SUPERSEDED', values: { sandboxId: row.sandboxId, problem: 'the sandbox has other files now' } };
    for (const number of [1, 2]) {
      await expect(store.toolCalls.proposeMethod(method(number), [])).rejects.toMatchObject(refusal);
      await expect(store.toolCalls.claimMethod(method(number), { requested: [], started: [] })).rejects.toMatchObject(refusal);
      await expect(store.toolCalls.recordMethod(method(number), done, [])).rejects.toMatchObject(refusal);
    }
    expect(await store.toolCalls.get(method(2).callId)).toBeUndefined();
    expect(await store.toolCalls.get(method(1).callId)).toMatchObject({ state: 'proposed', fence: 0 });
  });

  test('counts when the sandbox has been removed since: nothing has taken its place', async () => {
    const { row, call, from } = await worked();
    await store.toolCalls.claim(call.callId, call.hash);
    await store.sandboxes.remove(row.sandboxId);
    expect(await store.toolCalls.settle(call.callId, 1, done, [], from)).toBe(true);
  });
});
