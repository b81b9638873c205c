import { deferred } from '../../../../src/common/deferred.ts';
import { failure } from '../../../../src/contracts/errors.ts';
import type { CallResult } from '../../../../src/store/tool-call-rows.ts';
import { AnswersAhead } from '../../../../src/tool-calls/run/methods/answers-ahead.ts';

const RESULT: CallResult = { state: 'finished', content: [{ type: 'text', text: 'seen' }], isError: false };
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Runs a call that has its result at once, and is stored when the test says so. */
function begin(ahead: AnswersAhead, answers: string[], name: string) {
  const storing = deferred<Error | undefined>();
  const ended = ahead.run(
    async ({ onResult, onStored }) => {
      onResult(RESULT);
      const error = await storing.promise;
      if (error) throw error;
      onStored(RESULT);
    },
    async () => void answers.push(name),
  );
  ended.catch(() => undefined);
  return { ended, store: (error?: Error) => storing.resolve(error) };
}

test('a call is answered while it is stored, and the next one once that is done', async () => {
  const ahead = new AnswersAhead();
  const answers: string[] = [];
  const first = begin(ahead, answers, 'first');
  const second = begin(ahead, answers, 'second');
  await turn();
  expect(answers).toEqual(['first']);
  first.store();
  expect(await first.ended).toBe('answered');
  await turn();
  expect(answers).toEqual(['first', 'second']);
  second.store();
  expect(await second.ended).toBe('answered');
});

test('after a call that could not be stored, none is answered before it is stored', async () => {
  const ahead = new AnswersAhead();
  const answers: string[] = [];
  const first = begin(ahead, answers, 'first');
  const second = begin(ahead, answers, 'second');
  const error = failure('POSTGRES_UNAVAILABLE', { problem: 'restarting' });
  first.store(error);
  await expect(first.ended).rejects.toBe(error);
  second.store();
  expect([await second.ended, answers, ahead.hasFailed]).toEqual([RESULT, ['first'], true]);
});

test('that there is no room for a call that was answered is told to the next one', async () => {
  const ahead = new AnswersAhead();
  const answers: string[] = [];
  const full = failure('STORAGE_EXHAUSTED', { limit: 1 });
  const first = begin(ahead, answers, 'first');
  await turn();
  first.store(full);
  expect(await first.ended).toBe('answered');
  const second = begin(ahead, answers, 'second');
  second.store(full);
  await expect(second.ended).rejects.toBe(full);
  expect(answers).toEqual(['first']);
});

test('it is settled when what was answered is stored', async () => {
  const ahead = new AnswersAhead();
  const first = begin(ahead, [], 'first');
  await turn();
  let settled = false;
  const waiting = ahead.settled().then(() => (settled = true));
  await turn();
  expect(settled).toBe(false);
  first.store();
  await waiting;
});
