import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { boundToApproval } from '../../../src/tool-calls/run/bound-to-approval.ts';
import { createEditArguments } from '../../../src/activities/edit-arguments.ts';
import type { ExecuteToolArgs } from '../../../src/contracts/activities.ts';
import type { Agent } from '../../../src/contracts/agent.ts';
import { failure } from '../../../src/contracts/errors.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { definePlugin, defineTool } from '../../../src/plugins/api/define-plugin.ts';
import { hashCall } from '../../../src/plugins/registry/hash-call.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';
import { createFakeStore } from '../../activities/fakes.ts';

const parameters = { type: 'object', properties: { to: { type: 'string' }, amount: { type: 'integer', maximum: 10 } } } as const;
const registryOf = (version: string) =>
  createRegistry([definePlugin({ id: 'bank', version, tools: [defineTool({ id: 'pay', description: 'Pays', parameters, execute: async () => 'paid' })] })]);
const agent = {
  id: 'banker',
  approval: [
    { tool: 'bank:pay', when: { to: 'Mallory' }, decide: 'deny' },
    { tool: 'bank:pay', decide: 'ask' },
  ],
  requireApproval: {},
} as unknown as Agent;

/** A call that was proposed with version 1, in front of a worker that has `version`. */
async function asked(version: string, input: JsonObject = { to: 'Ann' }) {
  const ledger = createFakeStore();
  const place = { callId: 'call_1', conversationId: 'conv_1', turnId: 'turn_1', stepId: 'step_1', tool: 'bank:pay' };
  const hash = hashCall({ id: 'bank:pay', pluginVersion: '1' }, input);
  await ledger.store.toolCalls.propose([{ ...place, arguments: input, hash }]);
  const ran: string[] = [];
  const opened = { rowOf: async () => undefined };
  const faults: Error[] = [];
  const get = async (callId: string) => {
    const fault = faults.shift();
    if (fault) throw fault;
    return ledger.store.toolCalls.get(callId);
  };
  const store = { ...ledger.store, toolCalls: { ...ledger.store.toolCalls, get } };
  const parts = { store, registry: registryOf(version), agents: new Map([['banker', agent]]), opened, log: pino({ level: 'silent' }) };
  const run = async ({ callId }: ExecuteToolArgs) => {
    ran.push(callId);
    return { outcome: 'detached', sandboxTier: 'none' } as const;
  };
  const args = { ...place, hash, agentId: 'banker', userId: 'user', tenantId: 'tenant', timeoutMs: 1000, needsSandbox: false };
  const edit = createEditArguments(parts);
  return {
    ...ledger,
    ran,
    faults,
    execute: (more: Partial<ExecuteToolArgs> = { approved: true }) =>
      new MockActivityEnvironment().run(() => boundToApproval(run, parts)({ ...args, ...more })),
    edit: (editedArguments: JsonObject) => edit({ conversationId: 'conv_1', agentId: 'banker', callId: 'call_1', tool: 'bank:pay', editedArguments }),
  };
}

test('a call that was approved does not run with another version of its plugin, and the model is told to call again', async () => {
  const call = await asked('2');
  expect(await call.execute()).toMatchObject({ outcome: 'finished', isError: true });
  expect(call.ran).toEqual([]);
  expect(call.calls.get('call_1')).toMatchObject({
    state: 'failed',
    content: [
      {
        type: 'text',
        text: 'bank:pay has changed since the approval of this call was requested (its plugin has version 2 now); the call was not run. Read the current description of the tool, and call it again.',
      },
    ],
  });
  expect(call.typesOf()).toEqual(['tool.finished']);
});

test('the version that was asked about runs, a call that needed no approval runs with any, and one that has begun goes on with any', async () => {
  const same = await asked('1');
  const unasked = await asked('2');
  const begun = await asked('2');
  begun.calls.get('call_1')!.state = 'running';
  await Promise.all([same.execute(), unasked.execute({}), begun.execute()]);
  expect([same.ran, unasked.ran, begun.ran]).toEqual([['call_1'], ['call_1'], ['call_1']]);
});

test('a call that was approved waits for a database that is away for a moment', async () => {
  const call = await asked('1');
  call.faults.push(failure('POSTGRES_UNAVAILABLE', { problem: 'restarting' }));
  await call.execute();
  expect(call.ran).toEqual(['call_1']);
});

test('arguments that come back from the database otherwise than they were given are the same call', async () => {
  const call = await asked('1', { to: 'a\u0000b\ud800' });
  call.calls.get('call_1')!.arguments = { to: 'a\ufffdb\ufffd' };
  await call.execute();
  expect(call.ran).toEqual(['call_1']);
});

test.each([
  ['do not fit the tool', '1', { to: 'Ann', amount: 11 }, '/amount: must be <= 10, got 11'],
  [
    'the agent denies',
    '1',
    { to: 'Mallory' },
    'the rules of the agent deny them (rule 1 of the agent: bank:pay with to Mallory is denied). Give other arguments, or deny the call',
  ],
  [
    'are for another version of the plugin',
    '2',
    { to: 'Bob' },
    'its plugin has version 2 now, but the approval is for another version. Deny the call; the agent can call the tool again',
  ],
])('edited arguments that %s are refused, and the call stays as it is', async (_, version, edited, message) => {
  const call = await asked(version);
  expect(await call.edit(edited)).toEqual({ outcome: 'invalid', message });
  expect(call.calls.get('call_1')).toMatchObject({ state: 'proposed', arguments: { to: 'Ann' } });
});

test('edited arguments that fit take the place of the model’s, and the call is bound to them', async () => {
  const call = await asked('1');
  const edited = await call.edit({ to: 'Bob' });
  expect(edited).toMatchObject({ outcome: 'edited', arguments: { to: 'Bob' } });
  expect(await call.edit({ to: 'Bob' })).toEqual(edited);
  await call.execute({ approved: true, hash: edited.outcome === 'edited' ? edited.hash : '' });
  expect(call.ran).toEqual(['call_1']);
});
