import type { WebhookDelivery, WebhookOutcome } from '../../../src/plugins/api/webhook-request.ts';
import type { PluginRequest } from '../../../src/store/service/plugin-webhooks.ts';
import { deliverRequests } from '../../../src/tool-calls/tasks/deliver-requests.ts';

const request = (requestId: string, more: Partial<PluginRequest> = {}): PluginRequest => ({
  requestId,
  endpoint: 'ship',
  headers: {},
  body: Buffer.from('{}'),
  attempts: 0,
  ...more,
});

/** Requests that wait, and a plugin that does this with them. */
function bench(waiting: PluginRequest[], results: Record<string, WebhookOutcome | Error> = {}, aborted = false) {
  const did: unknown[] = [];
  const received: WebhookDelivery[] = [];
  const rows = {
    claim: async () => waiting.shift(),
    release: async (id: string) => void did.push(['release', id]),
    hold: async () => undefined,
    begin: async () => new Date(0),
    end: async (id: string, problem?: string) => void did.push(['end', id, problem]),
    postpone: async ({ requestId }: PluginRequest, waitMs: number) => void did.push(['postpone', requestId, waitMs]),
  };
  const plugin = {
    async receive(delivery: WebhookDelivery) {
      received.push(delivery);
      const result = results[delivery.requestId] ?? { outcome: 'delivered' };
      if (result instanceof Error) throw result;
      return { result, forget: async () => void did.push(['forget', delivery.requestId]) };
    },
  };
  const log = { info: () => undefined, warn: () => undefined };
  const registry = { plugin: (id: string) => (id === 'gate' ? plugin : id === 'old' ? {} : undefined) };
  const signal = aborted ? AbortSignal.abort() : new AbortController().signal;
  const work = (pluginId = 'gate') => deliverRequests({ store: { pluginWebhooks: rows }, registry, log, signal } as never, { pluginId, tenantId: 'north' });
  return { work, did, received, waiting };
}

test('each request that waits is given to the plugin of its tenant, and what is kept of it is removed when its end is stored', async () => {
  const { work, did, received } = bench([request('a', { begunAt: new Date(5) })]);
  await work();
  expect(received).toMatchObject([{ requestId: 'a', tenantId: 'north', endpoint: 'ship', attempts: 0, begunAt: new Date(5) }]);
  expect(await received[0]?.begin()).toEqual(new Date(0));
  expect(did).toEqual([
    ['end', 'a', undefined],
    ['forget', 'a'],
  ]);
});

test('a request that failed has ended; one that was not called waits longer each time; of one whose address was removed nothing is noted', async () => {
  const waiting = [request('a'), request('b', { attempts: 3 }), request('c', { attempts: 30 }), request('d')];
  const postponed = { outcome: 'postponed', problem: 'not loaded' } as const;
  const { work, did } = bench(waiting, { a: { outcome: 'failed', problem: 'broken' }, b: postponed, c: postponed, d: { outcome: 'dropped' } });
  await work();
  const of = (id: string) => (did as string[][]).filter((each) => each[1] === id);
  expect(of('a')).toEqual([
    ['end', 'a', 'broken'],
    ['forget', 'a'],
  ]);
  expect(of('b')).toEqual([
    ['postpone', 'b', 8_000],
    ['forget', 'b'],
  ]);
  expect(of('c')[0]).toEqual(['postpone', 'c', 300_000]);
  expect(of('d')).toEqual([]);
});

test('a request that this worker cannot give to the plugin is left to another one, and others are delivered', async () => {
  const { work, did } = bench([request('a'), request('b')], { a: new Error('it is on another host') });
  await expect(work()).rejects.toThrow('it is on another host');
  expect(did).toEqual(expect.arrayContaining([['release', 'a'], ['end', 'b', undefined]])); // prettier-ignore
});

test('a worker that ends takes no more, and none is taken for a plugin that is not loaded or takes none', async () => {
  for (const [plugin, aborted] of [
    ['gate', true],
    ['absent', false],
    ['old', false],
  ] as const) {
    const { work, received, waiting } = bench([request('a')], {}, aborted);
    await work(plugin);
    expect([received, waiting.length]).toEqual([[], 1]);
  }
});
