import type { SaveStatusArgs } from '../../src/contracts/activities.ts';
import type { PendingApproval } from '../../src/contracts/conversation.ts';
import { asks, Stage, toolCall, until, type World } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

const asked = (more: object = {}) => toolCall({ decision: 'ask', why: 'rule 2 asks', ...more });
const answer = (world: World, args: object): Promise<unknown> => world.handle.executeUpdate('resolveApproval', { args: [args] });
const refused = (code: string) => ({ cause: { type: code } });

test('a call that needs a person waits without a worker, and runs once when it is allowed', async () => {
  const call = asked();
  const world = await stage.start((world) => world.answers.push(asks(call), asks()));
  await world.untilState('awaiting-approval');
  const pending = await world.handle.query<PendingApproval[]>('pendingApprovals');
  expect(pending).toMatchObject([
    { callId: call.callId, tool: 'shell:run', hash: call.hash, why: 'rule 2 asks', arguments: { command: 'true' }, expiresAtMs: 0 },
  ]);
  expect(world.asked('shell:run')).toEqual([]);
  await expect(answer(world, { callId: call.callId, hash: call.hash, answer: 'allow-once', by: 'ann' })).resolves.toEqual({
    callId: call.callId,
    answer: 'allow-once',
  });
  await world.untilAsked('finishTurn');
  expect(world.names().filter((name) => !name.startsWith('saveStatus'))).toEqual([
    'callModel',
    'recordApproval',
    'recordApproval',
    `shell:run ${call.callId}`,
    'callModel',
    'finishTurn',
  ]);
  expect(world.asked('recordApproval')[1]).toMatchObject({ event: { type: 'resolved', answer: 'allow-once', by: 'ann' } });
  await expect(answer(world, { callId: call.callId, hash: call.hash, answer: 'deny' })).rejects.toMatchObject(refused('APPROVAL_NOT_FOUND'));
});

test('all calls of a step that need a person are asked about at once', async () => {
  const [a, b] = [asked(), asked({ tool: 'files:write' })];
  const world = await stage.start((world) => world.answers.push(asks(a, b), asks()));
  await world.untilState('awaiting-approval');
  expect(world.saved?.pendingApprovals).toHaveLength(2);
  await answer(world, { callId: b.callId, hash: b.hash, answer: 'deny', reason: 'not today' });
  await answer(world, { callId: a.callId, hash: a.hash, answer: 'allow-once' });
  await world.untilAsked('finishTurn');
  expect(world.asked('settleCall')).toMatchObject([{ callId: b.callId, settlement: 'denied', message: 'Denied by an operator: not today' }]);
  expect(world.asked('shell:run')).toHaveLength(1);
  expect(world.asked('files:write')).toEqual([]);
});

test('an answer to another hash, and one that is no answer, are refused and leave the approval pending', async () => {
  const call = asked();
  const world = await stage.start((world) => world.answers.push(asks(call)));
  await world.untilState('awaiting-approval');
  await expect(answer(world, { callId: call.callId, hash: 'old', answer: 'allow' })).rejects.toMatchObject(refused('APPROVAL_MISMATCH'));
  await expect(answer(world, { callId: call.callId, hash: call.hash, answer: 'yes' })).rejects.toMatchObject(refused('INVALID_ARGUMENT'));
  await expect(answer(world, { callId: 'call_other', hash: call.hash, answer: 'allow' })).rejects.toMatchObject(refused('APPROVAL_NOT_FOUND'));
  await expect(world.handle.executeUpdate('resolveApproval')).rejects.toMatchObject(refused('INVALID_ARGUMENT'));
  expect((await world.status()).state).toBe('awaiting-approval');
});

test('of two answers at the same moment one counts', async () => {
  const call = asked();
  const world = await stage.start((world) => world.answers.push(asks(call), asks()));
  await world.untilState('awaiting-approval');
  const answers = await Promise.allSettled(['allow-once', 'deny'].map((verdict) => answer(world, { callId: call.callId, hash: call.hash, answer: verdict })));
  expect(answers.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(answers).toContainEqual(
    expect.objectContaining({ reason: expect.objectContaining({ cause: expect.objectContaining({ type: 'APPROVAL_NOT_FOUND' }) }) }),
  );
  await world.untilAsked('finishTurn');
  expect(world.asked('recordApproval')).toHaveLength(2);
});

test('allow holds for the tool from then on, and answers its other pending calls', async () => {
  const [a, b, c] = [asked(), asked(), asked()];
  const world = await stage.start((world) => world.answers.push(asks(a, b), asks(c), asks()));
  await world.untilState('awaiting-approval');
  await answer(world, { callId: a.callId, hash: a.hash, answer: 'allow' });
  await world.untilAsked('finishTurn');
  expect(world.asked('shell:run').map(({ callId }) => callId)).toEqual([a.callId, b.callId, c.callId]);
});

test('a call runs with the arguments an operator gave it', async () => {
  const call = asked();
  const world = await stage.start((world) => {
    world.answers.push(asks(call), asks());
    world.edit = { outcome: 'invalid', message: '/command: expected string' };
  });
  await world.untilState('awaiting-approval');
  const edited = { callId: call.callId, hash: call.hash, answer: 'allow-once', editedArguments: { command: 'ls' } };
  await expect(answer(world, edited)).rejects.toMatchObject(refused('TOOL_ARGUMENTS_INVALID'));
  world.edit = { outcome: 'edited', hash: 'edited', arguments: { command: 'ls' } };
  await answer(world, edited);
  await world.untilAsked('finishTurn');
  expect(world.asked('shell:run')).toMatchObject([{ callId: call.callId, hash: 'edited' }]);
});

test('an approval without an answer expires, and the model is told', async () => {
  const call = asked();
  const world = await stage.start((world) => world.answers.push(asks(call), asks()), { approvalTimeoutMs: 100 });
  await world.untilAsked('finishTurn');
  expect(world.asked('recordApproval')[1]).toMatchObject({ event: { type: 'resolved', answer: 'expired' } });
  expect(world.asked('settleCall')).toMatchObject([{ callId: call.callId, settlement: 'expired' }]);
});

test('an agent may let calls run when their approval is not answered', async () => {
  const call = asked();
  const world = await stage.start((world) => world.answers.push(asks(call), asks()), { approvalTimeoutMs: 100, approvalExpiry: 'allow' });
  await world.untilAsked('finishTurn');
  const resolved = { type: 'resolved', answer: 'allow-once', by: 'policy', reason: 'No answer in time; the agent allows such calls then.' };
  expect(world.asked('recordApproval')[1]).toMatchObject({ event: resolved });
  expect(world.asked('shell:run')).toMatchObject([{ callId: call.callId }]);
});

test('an agent may pause over an approval without an answer; it continues to wait, and can be answered after the resume', async () => {
  const call = asked();
  const world = await stage.start((world) => world.answers.push(asks(call), asks()), { approvalTimeoutMs: 100, approvalExpiry: 'pause' });
  await world.untilState('paused');
  expect(world.saved).toMatchObject({ paused: { by: 'approval', callId: call.callId, tool: 'shell:run' }, pendingApprovals: [{ expiresAtMs: 0 }] });
  await world.handle.signal('resume');
  await world.untilState('awaiting-approval');
  await answer(world, { callId: call.callId, hash: call.hash, answer: 'allow-once' });
  await world.untilAsked('finishTurn');
  expect(world.asked('shell:run')).toHaveLength(1);
});

test('an unattended conversation asks for no approval and runs only what reads and is allowed, whatever a worker proposes', async () => {
  const reads = toolCall({ decision: 'allow', readOnly: true });
  const [writes, asksToRead] = [toolCall({ decision: 'allow', readOnly: false }), asked({ readOnly: true })];
  const world = await stage.start((world) => world.answers.push(asks(reads, writes, asksToRead), asks()), { unattended: true });
  await world.untilAsked('finishTurn');
  expect(world.asked('shell:run')).toMatchObject([{ callId: reads.callId }]);
  const message = 'Denied: this conversation is unattended, so only calls that read and need no approval may run.';
  expect(world.asked('settleCall')).toMatchObject([
    { callId: writes.callId, settlement: 'denied', message },
    { callId: asksToRead.callId, settlement: 'denied', message },
  ]);
  expect(world.asked('callModel')[0]).toMatchObject({ unattended: true });
});

test('ending the turn withdraws its approvals', async () => {
  const call = asked();
  const world = await stage.start((world) => world.answers.push(asks(call)));
  await world.untilState('awaiting-approval');
  await world.handle.signal('interrupt');
  await world.untilAsked('finishTurn');
  expect(world.asked('recordApproval')[1]).toMatchObject({ event: { type: 'resolved', answer: 'deny' } });
  expect(world.asked('settleCall')).toMatchObject([{ callId: call.callId, settlement: 'interrupted' }]);
  expect(world.asked('finishTurn')[0]).toMatchObject({ outcome: 'interrupted', status: { pendingApprovals: [] } });
});

test('a conversation can be paused while it awaits an approval; the approved call waits for the resume', async () => {
  const call = asked();
  const world = await stage.start((world) => world.answers.push(asks(call), asks()));
  await world.untilState('awaiting-approval');
  await world.handle.signal('pause');
  await world.untilState('paused');
  await answer(world, { callId: call.callId, hash: call.hash, answer: 'allow-once' });
  await until(
    async () => world.saved?.pendingApprovals.length === 0,
    () => 'still pending',
  );
  expect(world.asked('shell:run')).toEqual([]);
  await world.handle.signal('resume');
  await world.untilAsked('finishTurn');
});

test('the sandbox of a conversation that awaits an approval goes to rest', async () => {
  const call = asked();
  const world = await stage.start((world) => world.answers.push(asks(toolCall()), asks(call)), { freezeAfterMs: 50 });
  await world.untilAsked('freezeSandbox');
  expect((await world.status()).state).toBe('awaiting-approval');
});

test('a tool that is revoked while the model is asked is asked about in that step, and its revocation is told once', async () => {
  const [first, again] = [asked(), toolCall({ remembered: true })];
  const world = await stage.start((made) => {
    const revoke = () => made.handle.executeUpdate('revokeAllowedTool', { args: [{ tool: 'shell:run', by: 'ada' }] });
    made.answers.push(asks(first), asks(), async (args) => {
      expect(args.allowedTools).toEqual(['shell:run']);
      expect([await revoke(), await revoke()]).toEqual([true, false].map((revoked) => ({ tool: 'shell:run', revoked })));
      return asks(again)(args);
    });
  });
  await world.untilState('awaiting-approval');
  await answer(world, { callId: first.callId, hash: first.hash, answer: 'allow', by: 'ann' });
  await world.untilAsked('finishTurn');
  expect(world.saved?.allowedTools).toEqual([{ tool: 'shell:run', callId: first.callId, by: 'ann', at: expect.any(String) }]);
  await world.send('again');
  await world.untilState('awaiting-approval');
  expect(world.saved?.pendingApprovals).toMatchObject([{ callId: again.callId, why: 'shell:run is not allowed any more' }]);
  await answer(world, { callId: again.callId, hash: again.hash, answer: 'deny' });
  await world.untilAsked('finishTurn', 2);
  const told = world.asked('saveStatus').flatMap(({ events }) => events as SaveStatusArgs['events']);
  expect(told.filter(({ type }) => type === 'tool.approval-revoked')).toEqual([
    { type: 'tool.approval-revoked', turnId: expect.stringMatching(/^turn_/), data: { tool: 'shell:run', by: 'ada' } },
  ]);
  for (const args of [undefined, {}, { tool: 1 }, { tool: 'x'.repeat(201) }, { tool: 'shell:run', by: {} }]) {
    await expect(world.handle.executeUpdate<unknown, [unknown]>('revokeAllowedTool', { args: [args] })).rejects.toMatchObject(refused('INVALID_ARGUMENT'));
  }
});
