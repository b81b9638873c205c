import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createCallModel } from '../../../src/activities/call-model.ts';
import type { CallModelArgs, CallModelResult } from '../../../src/contracts/activities.ts';
import type { AssistantPart } from '../../../src/contracts/transcript.ts';
import type { Model } from '../../../src/models/model.ts';
import { definePlugin, defineTool } from '../../../src/plugins/api/define-plugin.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';
import type { Store } from '../../../src/store/store.ts';
import { makeAgent, silentLog } from '../../models/support.ts';
import { useTestStore } from '../../store/support.ts';
import { until } from '../fakes.ts';
import { beginTurn, speaking } from './model-calls.ts';

const shell = defineTool({ id: 'run', description: 'Runs a command.', parameters: { type: 'object' }, execute: async () => 'done' });
const registry = createRegistry([definePlugin({ id: 'shell', version: '1.0.0', description: 'Commands.', tools: [shell] })]);
const agent = { ...makeAgent('scripted/none.yaml'), approval: [{ tool: 'shell:run', decide: 'allow' as const }] };

let store: Store;
useTestStore((opened) => ({ store } = opened));

let count = 0;
const begin = () => beginTurn(store, agent.id, ++count);
const calling = (tool: string, input: Record<string, string>): AssistantPart => ({ type: 'tool-call', callId: '', tool, arguments: input });

async function run(model: Model, args: CallModelArgs, attempt = 1, over: Store = store): Promise<CallModelResult> {
  const environment = new MockActivityEnvironment({ attempt }, { logger: new DefaultLogger('ERROR') });
  const models = { get: () => model, isPriced: () => true };
  const opened = { ifAwake: async () => undefined };
  const callModel = createCallModel({ store: over, registry, agents: new Map([[agent.id, agent]]), models, log: silentLog, opened });
  return environment.run<[CallModelArgs], CallModelResult, typeof callModel>(callModel, args);
}
const eventsOf = async ({ conversationId }: CallModelArgs) =>
  (await store.events.read(conversationId, 0)).filter(({ type }) => type !== 'conversation.started');

test('what the workflow is given stays small, whatever the model calls and however often', async () => {
  const args = await begin();
  const named = await run(speaking(calling('x'.repeat(3_000_000), {})), args);
  expect(named).toMatchObject({ calls: [{ decision: 'invalid', why: expect.stringContaining('Unknown tool "xxx') }] });
  expect(JSON.stringify(named).length).toBeLessThan(3_000);
  const [row] = await store.toolCalls.ofStep(args.conversationId, args.stepId);
  expect(JSON.stringify(row).length).toBeLessThan(6_000);
  const more = await begin();
  const many = await run(speaking({ type: 'text', text: 'All.' }, ...Array.from({ length: 5_000 }, () => calling('shell:run', { command: 'ls' }))), more);
  expect(JSON.stringify(many).length).toBeLessThan(500_000);
  const rows = await store.toolCalls.ofStep(more.conversationId, more.stepId);
  expect(rows).toHaveLength(500);
  expect(rows.filter(({ state }) => state === 'proposed')).toHaveLength(499);
  expect(rows.at(-1)).toMatchObject({
    state: 'failed',
    content: [{ text: expect.stringMatching(/^The answer has 5000 calls, and at most 500 .* were not run/) }],
  });
});

describe('an attempt that stood still while another one stored the answer', () => {
  const said: AssistantPart[] = [{ type: 'text', text: 'It.' }];

  test('tells nothing more of what its own model says', async () => {
    const args = await begin();
    let written = 0;
    const appendOpen: Store['events']['appendOpen'] = async (...given) => {
      const isOpen = await store.events.appendOpen(...given);
      written += 1;
      return isOpen;
    };
    const slow: Model = {
      async answer(_request, onDelta) {
        await run(speaking(...said), args, 2);
        onDelta({ type: 'text', text: 'Late.' });
        // The beginning of the step, and what was said.
        await until(() => written >= 2);
        return { parts: [{ type: 'text', text: 'Late.' }], usage: { inputTokens: 9, outputTokens: 9 } };
      },
    };
    const result = await run(slow, args, 1, { ...store, events: { ...store.events, appendOpen } });
    expect(result).toMatchObject({ outcome: 'answered', usage: { inputTokens: 3, outputTokens: 4 } });
    const events = await eventsOf(args);
    expect(events.map(({ type, attempt }) => [type, attempt])).toEqual([
      ['step.started', 1],
      ['step.started', 2],
      ['text.delta', 2],
      ['step.finished', undefined],
    ]);
  });

  test('does not begin again, and asks nothing', async () => {
    const args = await begin();
    const appendOpen: Store['events']['appendOpen'] = async (...given) => {
      await run(speaking(...said), args, 2);
      return store.events.appendOpen(...given);
    };
    const late = speaking({ type: 'text', text: 'Late.' });
    const result = await run(late, args, 1, { ...store, events: { ...store.events, appendOpen } });
    expect(result).toMatchObject({ outcome: 'answered', usage: { inputTokens: 3, outputTokens: 4 } });
    expect(late.asked).toEqual([]);
    expect((await eventsOf(args)).map(({ type, attempt }) => [type, attempt])).toEqual([
      ['step.started', 2],
      ['text.delta', 2],
      ['step.finished', undefined],
    ]);
  });
});
