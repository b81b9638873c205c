import type { Json, JsonObject } from '../../../../src/contracts/json.ts';
import { answerTasks } from '../../../../src/plugins/dialects/shared/python/answer-tasks.ts';
import { TaskRefused, type TaskQuestion } from '../../../../src/plugins/api/task-question.ts';

const idOf = (number: number) => number.toString(16).padStart(32, '0');
const asks = (number: number, what: string, ...args: Json[]) => ({ id: idOf(number), what, args });

/** A process whose tasks ask this, one list for each request. */
function bench(lists: object[][], { asked = true, runs = true, answer = async (): Promise<Json | undefined> => true } = {}) {
  const wishes: TaskQuestion[] = [];
  const given: JsonObject[] = [];
  const forgotten: string[] = [];
  const handle = {
    fileExists: async (path: string) => path === '.longshore-plugin/asks-plugin-1' && asked,
    serverMark: async () => (runs ? '' : undefined),
    async callServer(_server: unknown, { method, params }: { method: string; params: JsonObject }) {
      expect(method).toBe('longshore/tasks');
      given.push(params['answers'] as JsonObject);
      return { outcome: 'answered', result: { questions: lists.shift() ?? [] } };
    },
    forget: async (execId: string) => void forgotten.push(execId),
    async readFile(path: string, { maxBytes }: { maxBytes: number }) {
      if (path === '/absent') throw new Error('there is no file /absent');
      return Buffer.from(`${path} ${maxBytes}`);
    },
  };
  const reached = { pluginId: 'tides', server: () => ({ name: 'plugin-1' }) };
  const work = () =>
    answerTasks(reached as never, handle as never, 'north', async (question) => {
      wishes.push(question);
      return answer();
    });
  return { work, wishes, given, forgotten };
}

test('a process that asks nothing, or does not run, is left alone', async () => {
  for (const how of [{ asked: false }, { runs: false }]) {
    const { work, given } = bench([[asks(1, 'timers', 'conv_1')]], how);
    await work();
    expect(given).toEqual([]);
  }
});

test('questions are answered in their order until there are none, and each answer goes back under its id', async () => {
  const timer = { due: 1_800_000_000, text: 'high tide', temporary: true };
  const file = { type: 'file', mediaType: 'text/plain', name: 'a.txt', path: '/home/user/a.txt' };
  const { work, wishes, given, forgotten } = bench([
    [asks(1, 'send', 'conv_1', { type: 'text', text: 'one' }, file), asks(2, 'note', 'conv_2', { text: 'two', wake: true })],
    [
      asks(3, 'set-timer', 'conv_1', timer),
      asks(4, 'clear-timers', 'conv_1', { temporary: false }),
      asks(5, 'clear-timers', 'conv_1', {}),
      asks(6, 'timers', 'conv_1'),
    ],
  ]);
  await work();
  const { path: _, ...about } = file;
  const data = Buffer.from('/home/user/a.txt 10485760').toString('base64');
  expect(wishes.map(({ wish }) => wish)).toEqual([
    {
      what: 'send',
      conversationId: 'conv_1',
      parts: [
        { type: 'text', text: 'one' },
        { ...about, data },
      ],
    },
    { what: 'note', conversationId: 'conv_2', text: 'two', wake: true },
    { what: 'set-timer', conversationId: 'conv_1', timer: { dueMs: 1_800_000_000_000, text: 'high tide', temporary: true } },
    { what: 'clear-timers', conversationId: 'conv_1', temporary: false },
    { what: 'clear-timers', conversationId: 'conv_1' },
    { what: 'timers', conversationId: 'conv_1' },
  ]);
  expect(wishes[0]).toMatchObject({ pluginId: 'tides', tenantId: 'north', id: idOf(1) });
  const ok = (...numbers: number[]) => Object.fromEntries(numbers.map((number) => [idOf(number), { ok: true }]));
  expect(given).toEqual([{}, ok(1, 2), ok(3, 4, 5, 6)]);
  expect(new Set(forgotten).size).toBe(3);
});

test('what is refused or not usable is answered with the reason, and the next question is answered too', async () => {
  const long = { type: 'text', text: 'a'.repeat(100_001) };
  const { work, given } = bench(
    [
      [
        asks(1, 'timers', 'conv_1'),
        asks(2, 'erase', 'conv_1'),
        asks(3, 'send', "' or 1", { type: 'text', text: 'one' }),
        asks(4, 'send', 'conv_1', long),
        asks(5, 'send', 'conv_1', { type: 'file', mediaType: 'a/b', name: 'a', path: '/absent' }),
        asks(6, 'set-timer', 'conv_1', { due: 1e15, text: '', temporary: false }),
      ],
    ],
    { answer: () => Promise.reject(new TaskRefused('the conversation "conv_1" is closed')) },
  );
  await work();
  const errors = Object.values(given[1] ?? {}).map((answer) => (answer as { error: string }).error);
  expect(errors).toEqual([
    'the conversation "conv_1" is closed',
    'a task cannot ask for "erase"',
    expect.stringMatching(/^what a task asks for \(send\) is not usable: .*is no id of a conversation/),
    'a message of 100001 characters; at most 100000 are allowed',
    'there is no file /absent',
    expect.stringMatching(/^what a task asks for \(set-timer\) is not usable: /),
  ]);
});

test('a question with very many parts does not keep the others from their answers', async () => {
  const parts = Array.from({ length: 150 }, (_, index) => ({ type: 'text', text: String(index) }));
  const { work, given, wishes } = bench([[asks(1, 'send', 'conv_1', ...parts), asks(2, 'timers', 'conv_1')]]);
  await work();
  expect(wishes.map(({ wish }) => wish.what)).toEqual(['send', 'timers']);
  expect(given[1]).toEqual({ [idOf(1)]: { ok: true }, [idOf(2)]: { ok: true } });
});

test('a question whose answer is not there yet is left for a later look, and the others are answered', async () => {
  const question = { messages: [{ role: 'user', text: 'The tide?' }], maxOutputTokens: 7 };
  const answers = [undefined, true, undefined];
  const list = [asks(1, 'model', 'conv_1', question), asks(2, 'timers', 'conv_1')];
  const { work, given, wishes } = bench([list, list.slice(0, 1), list], { answer: async () => answers.shift() });
  await work();
  expect(given).toEqual([{}, { [idOf(2)]: { ok: true } }]);
  expect(wishes.map(({ wish }) => wish.what)).toEqual(['model', 'timers', 'model']);
  expect(wishes[0]?.wish).toEqual({ what: 'model', conversationId: 'conv_1', question: { ...question, tools: [] } });
});

test('what the model cannot be asked is refused with the reason', async () => {
  const { work, given } = bench([[asks(1, 'model', 'conv_1', { messages: [] }), asks(2, 'model-name', 'a b'), asks(3, 'model-name', 'conv_1')]]);
  await work();
  expect(given[1]).toEqual({
    [idOf(1)]: { error: expect.stringMatching(/^the model cannot be asked this: /) as string },
    [idOf(2)]: { error: expect.stringMatching(/^what a task asks for \(model-name\) is not usable: /) as string },
    [idOf(3)]: { ok: true },
  });
});

test('a question that could not be answered now is not answered, so that it is asked again', async () => {
  const { work, given } = bench([[asks(1, 'timers', 'conv_1')]], { answer: () => Promise.reject(new Error('the database is away')) });
  await expect(work()).rejects.toThrow('the database is away');
  expect(given).toEqual([{}]);
});

test('a plugin that asks without an end is left after some rounds, with its answers given', async () => {
  const { work, given, wishes } = bench(Array.from({ length: 100 }, (_, number) => [asks(number, 'timers', 'conv_1')]));
  await work();
  expect([wishes.length, given.length]).toEqual([10, 11]);
  expect(given.at(-1)).toEqual({ [idOf(9)]: { ok: true } });
});

test('what a process says that is no question is an error', async () => {
  const { work } = bench([[{ id: '../1', what: 'timers', args: [] }]]);
  await expect(work()).rejects.toThrow();
});
