import type { Agent } from '../../src/contracts/agent.ts';
import type { JsonObject } from '../../src/contracts/json.ts';
import { defineAgent } from '../../src/agents/define-agent.ts';
import { BUILTIN_PLUGINS } from '../../src/plugins/builtin/builtin-plugins.ts';
import { definePlugin } from '../../src/plugins/define-plugin.ts';
import { judgeCalls, type JudgedCalls } from '../../src/plugins/judge-calls.ts';
import { createRegistry } from '../../src/plugins/registry.ts';
import { echoTool } from './tools.ts';

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

function judge(tool: string, args: JsonObject): JudgedCalls {
  return judgeCalls({ registry, agent, calls: [{ callId: 'call_1', tool, arguments: args }] });
}

test('a call of a sandbox tool re-attaches, needs the sandbox and shows its command on one line', () => {
  const { proposed, refusals } = judge('shell:run', { command: 'npm test\n  --all' });
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

test('a host tool is repeated only where its annotations say that it may be', () => {
  expect(judge('echo:reads', {}).proposed[0]).toMatchObject({ retry: 'repeat', readOnly: true, needsSandbox: false, decision: 'allow' });
  expect(judge('echo:again', {}).proposed[0]).toMatchObject({ retry: 'repeat', readOnly: false });
  expect(judge('echo:once', {}).proposed[0]).toMatchObject({ retry: 'once', kind: 'behavior', timeoutMs: 5000, decision: 'ask' });
});

test('an unknown tool is refused with what the agent may call', () => {
  const { proposed, refusals } = judge('shell:runn', { command: 'ls' });
  expect(proposed[0]).toMatchObject({ callId: 'call_1', tool: 'shell:runn', decision: 'invalid' });
  expect(refusals).toEqual([{ callId: 'call_1', text: expect.stringMatching(/^Unknown tool "shell:runn"\. Available: echo:again, .*shell:run\.$/) }]);
});

test('a tool that exists but is not given to the agent is as unknown as any', () => {
  expect(judge('code:run', { language: 'bash', code: 'ls' }).proposed[0]).toMatchObject({ decision: 'invalid' });
});

test('arguments that break the schema are refused with their paths', () => {
  const { refusals } = judge('shell:run', { command: 7, shell: 'zsh' });
  expect(refusals[0]?.text).toMatch(/^Arguments of shell:run are not valid: .*\/command: expected string, got number/);
  expect(refusals[0]?.text).toContain('/shell: not known (known: command, cwd, timeoutSeconds, background)');
});

test('arguments over 16 KB stay out, their hash stays in', () => {
  const big = judge('files:write', { path: 'a', content: 'x'.repeat(20_000) }).proposed[0];
  expect(big).not.toHaveProperty('arguments');
  expect(big?.hash).toMatch(/^[0-9a-f]{64}$/);
});

test('a summary has at most 200 bytes and whole characters, and says what is cut', () => {
  const { summary } = judge('shell:run', { command: '€'.repeat(300) }).proposed[0]!;
  expect(summary).toBe(`${'€'.repeat(34)} …cut, 249 more characters… ${'€'.repeat(17)}`);
});

test('a summary that fails does not stop the call', () => {
  expect(judge('echo:broken', {}).proposed[0]).toMatchObject({ decision: 'ask', summary: 'echo:broken' });
});

test('the first text among the arguments is the summary of a tool that makes none', () => {
  expect(judge('echo:once', { count: 1, city: 'Oslo' }).proposed[0]?.summary).toBe('Oslo');
});

test('all calls of an answer are judged, in order', () => {
  const calls = ['shell:run', 'nope', 'files:read'].map((tool, index) => ({ callId: `call_${index}`, tool, arguments: { command: 'ls' } }));
  const { proposed, refusals } = judgeCalls({ registry, agent, calls });
  expect(proposed.map(({ decision }) => decision)).toEqual(['allow', 'invalid', 'invalid']);
  expect(refusals.map(({ callId }) => callId)).toEqual(['call_1', 'call_2']);
});

describe('what has to be asked', () => {
  const once = (more: object) => judgeCalls({ registry, agent, calls: [{ callId: 'call_1', tool: 'echo:once', arguments: {} }], ...more }).proposed[0];

  test('runs where it was allowed for the rest of the conversation, and says so', () => {
    expect(once({ allowedTools: ['echo:once'] })).toMatchObject({ decision: 'allow', why: 'echo:once was allowed for the rest of this conversation' });
    expect(once({ allowedTools: ['echo:again'] })).toMatchObject({ decision: 'ask' });
  });

  test('is denied where nobody is there to answer', () => {
    const why = 'nobody is there to approve it (no rule of the agent matches; echo:once may change something, which is asked)';
    expect(once({ unattended: true, allowedTools: ['echo:once'] })).toMatchObject({ decision: 'deny', why });
  });
});

test('a hidden tool is unknown to a model, and callable by code', () => {
  const hidden = createRegistry([definePlugin({ id: 'inner', tools: [echoTool('work', { visibility: 'hidden' })] })]);
  const request = { registry: hidden, agent: { ...agent, tools: ['*'] }, calls: [{ callId: 'call_1', tool: 'inner:work', arguments: {} }] };
  expect(judgeCalls(request).refusals).toEqual([{ callId: 'call_1', text: 'Unknown tool "inner:work". Available: none.' }]);
  expect(judgeCalls({ ...request, caller: 'code' }).proposed[0]).toMatchObject({ decision: 'ask' });
});
