import { asks, followCommand, Stage, toolCall, until } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const refused = (code: string) => ({ cause: { type: code } });

test('a message id that was sent before is one message', async () => {
  const world = await stage.start(undefined, {}, false);
  const [first, second] = await Promise.all([world.send('hello', { messageId: 'msg_a' }), world.send('hello', { messageId: 'msg_a' })]);
  expect(first.turnId).toBe(second.turnId);
  expect([first, second].filter(({ duplicate }) => duplicate)).toHaveLength(1);
  await world.untilAsked('finishTurn');
  expect(await world.send('hello', { messageId: 'msg_a' })).toEqual({ turnId: first.turnId, duplicate: true });
  expect(world.accepted).toHaveLength(1);
});

test('a message without an id gets one, and its text goes along; one with an id needs no text', async () => {
  const world = await stage.start(undefined, {}, false);
  const { turnId } = await world.send('typed by an operator');
  await world.untilAsked('finishTurn');
  expect(world.accepted[0]).toMatchObject({ turnId, text: 'typed by an operator', steers: false });
  await world.handle.executeUpdate('sendMessage', { args: [{ messageId: 'msg_stored' }] });
  await world.untilAsked('finishTurn', 2);
  expect(world.accepted[1]).not.toHaveProperty('text');
});

test.each([
  ['nothing', undefined],
  ['an empty object', {}],
  ['a bare text', 'hello'],
  ['an empty text', { text: ' ' }],
  ['a text that is too long', { text: 'x'.repeat(16_385) }],
  ['a text that is a number', { text: 7 }],
  ['an id that is no text', { text: 'hello', messageId: { a: 1 } }],
  ['an unknown way when busy', { text: 'hello', whenBusy: 'maybe' }],
])('%s is refused as a message, and nothing happens', async (_, args) => {
  const world = await stage.start(undefined, {}, false);
  await expect(
    args === undefined ? world.handle.executeUpdate('sendMessage') : world.handle.executeUpdate('sendMessage', { args: [args] }),
  ).rejects.toMatchObject(refused('MESSAGE_INVALID'));
  expect((await world.status()).state).toBe('idle');
});

test('messages are answered in the order in which they came', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  for (const text of ['one', 'two', 'three']) await world.send(text);
  world.commands.get(call.callId)!.state = 'ended';
  await world.untilAsked('finishTurn', 4);
  expect(world.accepted.map(({ text }) => text)).toEqual([undefined, 'one', 'two', 'three']);
});

test('a steering message joins the running turn at its next step', async () => {
  const call = toolCall();
  const world = await stage.start((world) => {
    world.answers.push(asks(call));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  expect(await world.send('look left', { whenBusy: 'steer' })).toEqual({ turnId: 'turn_first', duplicate: false });
  world.commands.get(call.callId)!.state = 'ended';
  await world.untilAsked('finishTurn');
  // While the status that counts it is being saved, a steering message is accepted by itself.
  const steps = world.names().filter((name) => name !== 'saveStatus' && name !== 'acceptMessage');
  expect(steps).toEqual(['callModel', `shell:run ${call.callId}`, 'callModel', 'finishTurn']);
  expect(world.accepted[1]).toMatchObject({ turnId: 'turn_first', steers: true, text: 'look left' });
});

test('a steering message that comes during the last step still gets its step', async () => {
  let answer = false;
  const world = await stage.start((world) =>
    world.answers.push(async (args) => {
      await until(
        async () => answer,
        () => 'nobody steered',
      );
      return await asks()(args);
    }),
  );
  await world.untilAsked('callModel');
  await world.send('one more thing', { whenBusy: 'steer' });
  answer = true;
  await world.untilAsked('finishTurn');
  expect(world.asked('callModel')).toHaveLength(2);
});

test('an interrupting message ends the turn and is next; a rejected one leaves no trace', async () => {
  const world = await stage.start((world) => {
    world.answers.push(asks(toolCall()));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  await world.send('later');
  await expect(world.send('never', { whenBusy: 'reject' })).rejects.toMatchObject(refused('CONVERSATION_BUSY'));
  await world.send('now', { whenBusy: 'interrupt' });
  await world.untilAsked('finishTurn', 3);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'interrupted' });
  expect(world.accepted.map(({ text }) => text)).toEqual([undefined, 'now', 'later']);
});

test('a message that waits while a turn runs shows in the saved status', async () => {
  const world = await stage.start((world) => {
    world.answers.push(asks(toolCall()));
    world.tool = followCommand;
  });
  await world.untilAsked('shell:run');
  await world.send('waits');
  await until(
    async () => world.saved?.queued === 1,
    () => 'not saved',
  );
});

test('the handlers describe themselves, and the details say what is going on', async () => {
  const call = toolCall({ decision: 'ask', why: 'rule `2` asks' });
  const world = await stage.start((world) => world.answers.push(asks(call)), { budget: { tokens: 1_000 } });
  await world.untilState('awaiting-approval');
  type Metadata = { currentDetails: string; definition: Record<string, { name: string; description: string }[]> };
  const { currentDetails, definition } = await world.handle.query<Metadata>('__temporal_workflow_metadata');
  expect(definition['updateDefinitions']?.map(({ name }) => name).toSorted()).toEqual(['resolveApproval', 'revokeAllowedTool', 'rewind', 'sendMessage']);
  expect(definition['signalDefinitions']?.map(({ name }) => name).toSorted()).toEqual([
    'cancel',
    'clientAnswered',
    'close',
    'compact',
    'forked',
    'interrupt',
    'newVersion',
    'pause',
    'resume',
    'serverAsks',
    'stopAfterStep',
    'subAgentEnded',
    'subAgentHasPlace',
    'turnHasPlace',
    'wake',
  ]);
  const described = Object.values(definition).flatMap((all) => (Array.isArray(all) ? all : []));
  for (const { name, description } of described.filter(({ name }) => !name.startsWith('__'))) expect([name, description.length > 20]).toEqual([name, true]);
  expect(currentDetails).toContain('**awaiting-approval**');
  expect(currentDetails).toContain(call.hash);
  expect(currentDetails).toContain('`rule \\u00602\\u0060 asks`');
  expect(currentDetails).toContain('tokens 985');
});

test('search attributes follow the state', async () => {
  const call = toolCall({ decision: 'ask' });
  const world = await stage.start((world) => world.answers.push(asks(call), asks()));
  await world.untilState('awaiting-approval');
  const attributes = async () => (await world.handle.describe()).searchAttributes;
  expect(await attributes()).toMatchObject({ ConversationState: ['awaiting-approval'], AwaitingApproval: [true], SandboxTier: ['none'] });
  await world.handle.executeUpdate('resolveApproval', { args: [{ callId: call.callId, hash: call.hash, answer: 'allow-once' }] });
  await until(
    async () => (await attributes())['ConversationState']?.[0] === 'idle',
    () => 'the conversation is not shown as idle',
  );
  expect(await attributes()).toMatchObject({ AwaitingApproval: [false], SandboxTier: ['running'] });
});

test('a text that takes more bytes than fit into a message typed here is refused', async () => {
  const world = await stage.start(undefined, {}, false);
  const refused = { cause: { type: 'MESSAGE_INVALID', message: expect.stringContaining('takes 16386 bytes as JSON') } };
  await expect(world.send('漢'.repeat(5_462))).rejects.toMatchObject(refused);
  await expect(world.send('漢'.repeat(5_461))).resolves.toMatchObject({ duplicate: false });
});
