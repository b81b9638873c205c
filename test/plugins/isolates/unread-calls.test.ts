import { array, assert, asyncProperty, constant, constantFrom, integer, oneof, record } from 'fast-check';
import { wasAmongOthers } from '../../../src/plugins/api/among-others.ts';
import { createCalls, wasNeverRead } from '../../../src/plugins/isolates/calls.ts';
import type { CallUnderWay } from '../../../src/plugins/isolates/capabilities.ts';
import type { PluginProcess } from '../../../src/plugins/isolates/plugin-process.ts';
import { contextOf, openWorkbench, problemOf, run, sourceOf } from './support.ts';

const CALLER = {} as CallUnderWay;

/** A process that does what a test says, for the bookkeeping alone. */
function fakeProcess() {
  let end: (why: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => (end = resolve));
  return { process: { ended, send: () => undefined, kill: (why: string) => end(why) } as unknown as PluginProcess, end };
}

test('whatever happens in which order, a call fails as one that was never read only if its process did not say that it had begun', async () => {
  const step = oneof(
    record({ what: constant('call' as const) }),
    record({ what: constantFrom('begun' as const, 'done' as const, 'giveUp' as const), id: integer({ min: 0, max: 8 }) }),
    record({ what: constant('end' as const) }),
  );
  await assert(
    asyncProperty(array(step, { maxLength: 30 }), async (steps) => {
      const { process, end } = fakeProcess();
      const calls = createCalls(process, 60_000);
      const outcomes = new Map<number, Promise<string>>();
      const begun = new Set<number>();
      let isOver = false;
      for (const given of steps) {
        if (given.what === 'call') {
          const { id, answer } = calls.begin('p:t');
          outcomes.set(
            id,
            answer.then(String, (error: Error) => (wasNeverRead(error) ? 'never read' : error.message)),
          );
        } else if (given.what === 'begun') {
          calls.hasBegun(given.id);
          if (!isOver && outcomes.has(given.id)) begun.add(given.id);
        } else if (given.what === 'done') calls.finish(given.id, () => 'done');
        else if (given.what === 'giveUp') calls.giveUp(given.id, new Error('given up'));
        else {
          end('it hung');
          isOver = true;
          await Promise.resolve();
        }
      }
      end('it hung');
      for (const [id, outcome] of outcomes) {
        const found = await outcome;
        expect(['done', 'given up', 'never read', 'p:t failed: its process was ended: it hung']).toContain(found);
        if (found === 'never read') expect(begun).not.toContain(id);
        if (found.startsWith('p:t failed')) expect(begun).toContain(id);
      }
    }),
    { numRuns: 300 },
  );
});

test('a call knows whether its process had other calls before it ended, those included that had their answers', async () => {
  const amongOthers = async (prepare: (calls: ReturnType<typeof createCalls>) => void) => {
    const { process, end } = fakeProcess();
    const calls = createCalls(process, 60_000);
    // Loads the plugin.
    calls.finish(calls.begin('p').id, () => 'loaded');
    const { id, answer } = calls.begin('p:t', CALLER);
    calls.hasBegun(id);
    prepare(calls);
    end('it hung');
    return wasAmongOthers((await answer.catch((error: unknown) => error)) as Error);
  };
  const beginOther = (calls: ReturnType<typeof createCalls>) => {
    const { id, answer } = calls.begin('p:t', CALLER);
    answer.catch(() => undefined);
    return id;
  };
  expect(await amongOthers(() => undefined)).toBe(false);
  expect(await amongOthers(beginOther)).toBe(true);
  expect(await amongOthers((calls) => calls.giveUp(beginOther(calls), new Error('given up')))).toBe(true);
  expect(await amongOthers((calls) => calls.finish(beginOther(calls), () => 'done'))).toBe(true);
});

test('calls that a hung process never read are answered by the one after it, once each; the call that hung is not tried again', async () => {
  await using bench = await openWorkbench({ unresponsiveMs: 400 });
  const source = sourceOf('hanging', { hang: `context.logger.info('hung'); for (;;);`, count: `await context.note('count ' + input.n); return input.n;` });
  const plugin = await bench.load('hanging', source);
  const context = contextOf('conv-1');
  await run(plugin, 'count', { n: 0 }, context);
  const hanging = problemOf(run(plugin, 'hang', {}, context));
  while (!context.told.includes('info hung')) await new Promise(setImmediate);
  const others = await Promise.all([1, 2, 3, 4, 5].map((n) => run(plugin, 'count', { n }, context)));
  expect(others).toEqual([1, 2, 3, 4, 5]);
  expect(await hanging).toBe('hanging:hang failed: its process was ended: it did not answer for 400 ms');
  expect(context.told.filter((line) => line !== 'info hung')).toEqual([0, 1, 2, 3, 4, 5].map((n) => `note count ${n}`));
  expect(context.told.filter((line) => line === 'info hung')).toHaveLength(1);
});
