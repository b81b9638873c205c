import { bench, hooked } from './support.ts';

const ask = (hooks: ReturnType<typeof bench>['hooks']) => hooks.run('received', { id: 'turn_1_1' }, { said: [] });

/** A plugin that notes what it was asked. */
const noting = (id: string, handlers: Record<string, number[]>) =>
  hooked(
    id,
    'received',
    Object.fromEntries(
      Object.entries(handlers).map(([name, order]) => [
        name,
        { order, answer: (value, names) => ({ value: { said: [...(value['said'] as string[]), `${id} ${names.join('+')}`] } }) },
      ]),
    ),
  );

test('handlers of all plugins run in their order, and those of one plugin that follow each other are asked together', async () => {
  const { hooks } = bench([noting('b', { first: [0, 0], last: [2] }), noting('a', { second: [0, 1], third: [1], 'last-too': [2] })]);
  expect((await ask(hooks)).value).toEqual({ said: ['b first', 'a second+third+last-too', 'b last'] });
});

test('a handler that stops the message is the last one', async () => {
  const stopper = hooked('a', 'received', { stop: { answer: () => ({ stopped: true, sent: [{ type: 'text', text: 'Stopped.' }] }) } });
  const { hooks } = bench([stopper, noting('b', { later: [1] })]);
  expect(await ask(hooks)).toEqual({
    value: { said: [] },
    stoppedBy: 'a',
    sent: [{ key: 'hook_turn_1_1_received_0', tool: 'a:hook.stop', parts: [{ type: 'text', text: 'Stopped.' }] }],
  });
});

test('a plugin that fails is left out, unless its failure is to stop the message', async () => {
  const failing = (stopsOnFailure: boolean) => {
    const answer = () => {
      throw new Error('broken');
    };
    return hooked('a', 'received', { fail: { stopsOnFailure, answer } });
  };
  expect(await ask(bench([failing(false), noting('b', { next: [1] })]).hooks)).toEqual({ value: { said: ['b next'] }, sent: [] });
  expect(await ask(bench([failing(true), noting('b', { next: [1] })]).hooks)).toMatchObject({ stoppedBy: 'a', value: { said: [] } });
});

test('only handlers that the agent names take part, and none that a rule denies', async () => {
  const plugins = [noting('a', { one: [0], two: [1] })];
  expect((await ask(bench(plugins, { tools: ['a:hook.two'] }).hooks)).value).toEqual({ said: ['a two'] });
  expect((await ask(bench(plugins, { approval: [{ tool: 'a:hook.one', decide: 'deny' }] }).hooks)).value).toEqual({ said: ['a two'] });
  expect(bench(plugins, { tools: ['a:hook.two'] }).hooks.has('sending')).toBe(false);
});

test('a question has the same name in each attempt, and another one where its contents differ', async () => {
  const asked: string[] = [];
  const plugin = hooked('a', 'asking', { one: { answer: (_value, _names, execId) => (asked.push(execId), {}) } });
  for (const digest of ['x', 'x', 'y', undefined]) {
    await bench([plugin]).hooks.run('asking', { id: 'step_1', ...(digest !== undefined && { digest }) }, {});
  }
  expect(asked).toEqual(['hook_step_1_asking_0_x', 'hook_step_1_asking_0_x', 'hook_step_1_asking_0_y', 'hook_step_1_asking_0']);
});
