import { createFrameReader } from '../../../src/api/stream/event-frames.ts';
import { deferred } from '../../../src/common/deferred.ts';
import type { ConversationEvent } from '../../../src/contracts/events.ts';
import { asTenant } from '../../../src/store/database/tenant-scope.ts';

/** A log whose queries see what there is when they begin, and answer when they are let. */
function heldLog() {
  const log: ConversationEvent[] = [];
  const queries: (() => void)[] = [];
  const begun = [deferred<void>()];
  const read = async (_id: string, afterSeq: number): Promise<ConversationEvent[]> => {
    const seen = log.filter(({ seq }) => seq > afterSeq);
    const held = deferred<void>();
    queries.push(held.resolve);
    begun.at(-1)?.resolve();
    begun.push(deferred());
    await held.promise;
    return seen;
  };
  const add = () =>
    void log.push({ seq: log.length + 1, conversationId: 'conv_1', at: '', type: 'turn.started', turnId: 'turn_1', data: {} } as unknown as ConversationEvent);
  return { read, add, queries, begun: (number: number) => begun[number]?.promise };
}

const seqs = async (page: Promise<readonly { event: ConversationEvent }[]>) => (await page).map(({ event }) => event.seq);

test('a reader that comes when a query has begun sees what was logged since', async () => {
  const log = heldLog();
  const readFrames = createFrameReader(log);
  const early = readFrames('conv_1', 0);
  await log.begun(0);
  log.add();
  const late = [readFrames('conv_1', 0), readFrames('conv_1', 0)];
  log.queries[0]?.();
  expect(await seqs(early)).toEqual([]);
  await log.begun(1);
  log.queries[1]?.();
  expect(await Promise.all(late.map(seqs))).toEqual([[1], [1]]);
  expect(log.queries).toHaveLength(2);
}, 5_000);

test('readers that come at the same moment share a query, those of one tenant; one that fails is not kept', async () => {
  let queries = 0;
  const readFrames = createFrameReader({
    async read() {
      queries += 1;
      if (queries < 3) throw new Error('away');
      return [];
    },
  });
  const read = (tenant: string) => asTenant(tenant, () => readFrames('conv_1', 0));
  const pages = await Promise.allSettled([read('north'), read('north'), read('south')]);
  expect([queries, ...pages.map(({ status }) => status)]).toEqual([2, 'rejected', 'rejected', 'rejected']);
  expect(await read('north')).toEqual([]);
});
