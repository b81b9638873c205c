import type { Agent } from '../../../src/contracts/agent.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { defineAgent } from '../../../src/definitions/agents/define-agent.ts';
import { BUILTIN_PLUGINS } from '../../../src/plugins/builtin/builtin-plugins.ts';
import { definePlugin } from '../../../src/plugins/api/define-plugin.ts';
import { judgeCalls, type JudgedCalls } from '../../../src/plugins/approval/judge-calls.ts';
import { createRegistry } from '../../../src/plugins/registry/registry.ts';
import { echoTool } from '../tools.ts';

const echo = definePlugin({
  id: 'echo',
  tools: [
    echoTool('reads', { annotations: { readOnlyHint: true } }),
    echoTool('again', { annotations: { idempotentHint: true } }),
    echoTool('once', { kind: 'behavior', timeoutMs: 5000 }),
    echoTool('broken', {
      summarize() {
        throw new Error('no');
      },
    }),
  ],
});
const registry = createRegistry([...BUILTIN_PLUGINS, echo]);
const agent: Agent = defineAgent({
  id: 'fixer',
  model: 'openai/x',
  tools: ['shell:run', 'files:*', 'echo:*'],
  approval: [{ tool: 'shell:run', decide: 'allow' }],
});

function judge(tool: string, args: JsonObject): Promise<JudgedCalls> {
  return judgeCalls({ registry, agent, calls: [{ callId: 'call_1', tool, arguments: args }] });
}

test('a call of a sandbox tool re-attaches, needs the sandbox and shows its command on one line', async () => {
  const { proposed, refusals } = await judge('shell:run', { command: 'npm test\n  --all' });
  expect(refusals).toEqual([]);
  expect(proposed[0]).toMatchObject({
    callId: 'call_1',
    tool: 'shell:run',
    arguments: { command: 'npm test\n  --all' },
    decision: 'allow',
    why: 'rule 1 of the agent: shell:run is allowed',
    kind: 'tool',
    readOnly: false,
    needsSandbox: true,
    retry: 'attach',
    summary: 'npm test\\n --all',
  });
  expect(proposed[0]?.hash).toMatch(/^[0-9a-f]{64}$/);
});

test('a host tool is repeated only where its annotations say that it may be', async () => {
  expect((await judge('echo:reads', {})).proposed[0]).toMatchObject({ retry: 'repeat', readOnly: true, needsSandbox: false, decision: 'allow' });
  expect((await judge('echo:again', {})).proposed[0]).toMatchObject({ retry: 'repeat', readOnly: false });
  expect((await judge('echo:once', {})).proposed[0]).toMatchObject({ retry: 'once', kind: 'behavior', timeoutMs: 5000, decision: 'ask' });
});

test('an unknown tool is refused with what the agent may call', async () => {
  const { proposed, refusals } = await judge('shell:runn', { command: 'ls' });
  expect(proposed[0]).toMatchObject({ callId: 'call_1', tool: 'shell:runn', decision: 'invalid' });
  expect(refusals).toEqual([{ callId: 'call_1', text: expect.stringMatching(/^Unknown tool "shell:runn"\. Available: echo:again, .*shell:run\.$/) }]);
});

test('a tool that exists but is not given to the agent is as unknown as any', async () => {
  expect((await judge('code:run', { language: 'bash', code: 'ls' })).proposed[0]).toMatchObject({ decision: 'invalid' });
});

test('arguments that break the schema are refused with their paths', async () => {
  const { refusals } = await judge('shell:run', { command: 7, shell: 'zsh' });
  expect(refusals[0]?.text).toMatch(/^Arguments of shell:run are not valid: .*\/command: expected string, got number/);
  expect(refusals[0]?.text).toContain('/shell: not known (known: command, cwd, timeoutSeconds, background)');
});

test('arguments over 16 KB stay out, their hash stays in', async () => {
  const big = (await judge('files:write', { path: 'a', content: 'x'.repeat(20_000) })).proposed[0];
  expect(big).not.toHaveProperty('arguments');
  expect(big?.hash).toMatch(/^[0-9a-f]{64}$/);
});

test('a summary has at most 200 bytes and whole characters, and says what is cut', async () => {
  const { summary } = (await judge('shell:run', { command: '€'.repeat(300) })).proposed[0]!;
  expect(summary).toBe(`${'€'.repeat(34)} …cut, 249 more characters… ${'€'.repeat(17)}`);
});

test('a summary that fails does not stop the call', async () => {
  expect((await judge('echo:broken', {})).proposed[0]).toMatchObject({ decision: 'ask', summary: 'echo:broken' });
});

test('the first text among the arguments is the summary of a tool that makes none', async () => {
  expect((await judge('echo:once', { count: 1, city: 'Oslo' })).proposed[0]?.summary).toBe('Oslo');
});

test('all calls of an answer are judged, in order', async () => {
  const calls = ['shell:run', 'nope', 'files:read'].map((tool, index) => ({ callId: `call_${index}`, tool, arguments: { command: 'ls' } }));
  const { proposed, refusals } = await judgeCalls({ registry, agent, calls });
  expect(proposed.map(({ decision }) => decision)).toEqual(['allow', 'invalid', 'invalid']);
  expect(refusals.map(({ callId }) => callId)).toEqual(['call_1', 'call_2']);
});

describe('what has to be asked', () => {
  const once = async (more: object) =>
    (await judgeCalls({ registry, agent, calls: [{ callId: 'call_1', tool: 'echo:once', arguments: {} }], ...more })).proposed[0];

  test('runs where it was allowed for the rest of the conversation, and says so', async () => {
    expect(await once({ allowedTools: ['echo:once'] })).toMatchObject({ decision: 'allow', why: 'echo:once was allowed for the rest of this conversation' });
    expect(await once({ allowedTools: ['echo:again'] })).toMatchObject({ decision: 'ask' });
  });

  test('is denied in an unattended conversation', async () => {
    const why =
      'no person can approve it in an unattended conversation (no rule of the agent matches; echo:once may change something, so it needs an approval)';
    expect(await once({ unattended: true, allowedTools: ['echo:once'] })).toMatchObject({ decision: 'deny', why });
  });
});

test('a hidden tool is unknown to a model, and callable by code', async () => {
  const hidden = createRegistry([definePlugin({ id: 'inner', tools: [echoTool('work', { visibility: 'hidden' })] })]);
  const request = { registry: hidden, agent: { ...agent, tools: ['*'] }, calls: [{ callId: 'call_1', tool: 'inner:work', arguments: {} }] };
  expect((await judgeCalls(request)).refusals).toEqual([{ callId: 'call_1', text: 'Unknown tool "inner:work". Available: none.' }]);
  expect((await judgeCalls({ ...request, caller: 'code' })).proposed[0]).toMatchObject({ decision: 'ask' });
});
