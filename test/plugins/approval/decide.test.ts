import type { JsonObject } from '../../../src/contracts/json.ts';
import type { ApprovalRule } from '../../../src/contracts/agent.ts';
import { decide as decideBy, type Decision } from '../../../src/plugins/approval/decide.ts';
import { echoTool } from '../tools.ts';

const shell = { ...echoTool('run'), id: 'shell:run', pluginId: 'shell' };
const reader = { ...echoTool('read', { annotations: { readOnlyHint: true } }), id: 'files:read', pluginId: 'files' };

function decide(approval: ApprovalRule[], tool: typeof shell, input: JsonObject, requireApproval: Record<string, boolean> = {}): Decision {
  return decideBy({ approval, requireApproval }, tool, input);
}

test('deny beats ask beats allow, in whatever order the rules stand', () => {
  const rules: ApprovalRule[] = [
    { tool: '*', decide: 'allow' },
    { tool: 'shell:run', when: { command: 'rm *' }, decide: 'ask' },
    { tool: 'shell:*', when: { command: '*sudo*' }, decide: 'deny' },
  ];
  expect(decide(rules, shell, { command: 'ls' })).toEqual({ decision: 'allow', why: 'rule 1 of the agent: * is allowed' });
  expect(decide(rules, shell, { command: 'rm x' })).toEqual({ decision: 'ask', why: 'rule 2 of the agent: shell:run with command rm * is asked' });
  expect(decide(rules, shell, { command: 'rm $(sudo x)' })).toEqual({
    decision: 'deny',
    why: 'rule 3 of the agent: shell:* with command *sudo* is denied',
  });
});

test('without a rule, reading is allowed and the rest is asked', () => {
  expect(decide([], reader, {}).decision).toBe('allow');
  expect(decide([], shell, {})).toEqual({ decision: 'ask', why: 'no rule of the agent matches; shell:run may change something, so it needs an approval' });
});

test("a tool's own requireApproval speaks where no rule of the agent does", () => {
  expect(decide([], { ...reader, requireApproval: true }, {}).decision).toBe('ask');
  expect(decide([], { ...shell, requireApproval: false }, {}).decision).toBe('allow');
  expect(decide([{ tool: 'files:*', decide: 'allow' }], { ...reader, requireApproval: true }, {}).decision).toBe('allow');
  expect(decide([{ tool: 'shell:*', decide: 'ask' }], { ...shell, requireApproval: false }, {}).decision).toBe('ask');
});

test('a condition is met only by an argument that is there', () => {
  const rules: ApprovalRule[] = [{ tool: 'shell:run', when: { cwd: '*' }, decide: 'deny' }];
  expect(decide(rules, shell, { command: 'ls' }).decision).toBe('ask');
  expect(decide(rules, shell, { cwd: '/tmp' }).decision).toBe('deny');
  expect(decide([{ tool: 'shell:run', when: { toString: '*' }, decide: 'deny' }], shell, {}).decision).toBe('ask');
});

test('conditions on numbers and truth values compare the value, texts compare structured arguments as JSON', () => {
  const rules: ApprovalRule[] = [{ tool: 'shell:run', when: { background: true, port: 80, paths: '*secret*' }, decide: 'deny' }];
  expect(decide(rules, shell, { background: true, port: 80, paths: ['a', 'secret'] }).decision).toBe('deny');
  expect(decide(rules, shell, { background: 'true', port: 80, paths: ['secret'] }).decision).toBe('ask');
  expect(decide(rules, shell, { background: true, port: 80, paths: ['a'] }).decision).toBe('ask');
});

test('a rule may name a plugin and an annotation, and matches where all that it names fits', () => {
  const eraser = { ...shell, annotations: { destructiveHint: true } };
  const rules: ApprovalRule[] = [
    { annotation: 'destructiveHint', plugin: 'shell', decide: 'deny' },
    { plugin: 'she*', decide: 'allow' },
  ];
  expect(decide(rules, shell, {})).toEqual({ decision: 'allow', why: 'rule 2 of the agent: plugin she* is allowed' });
  expect(decide(rules, eraser, {})).toEqual({ decision: 'deny', why: 'rule 1 of the agent: plugin shell and annotation destructiveHint is denied' });
  expect(decide(rules, reader, {}).why).toBe('no rule of the agent matches; files:read only reads, so it is allowed');
});

test('what may destroy something is asked, even if it also says that it only reads', () => {
  const both = { ...reader, annotations: { readOnlyHint: true, destructiveHint: true } };
  expect(decide([], both, {})).toEqual({ decision: 'ask', why: 'no rule of the agent matches; files:read may destroy something, so it needs an approval' });
});

test("the agent's requireApproval speaks over what a tool says of itself, and never over a stricter rule", () => {
  expect(decide([], reader, {}, { 'files:*': true })).toEqual({ decision: 'ask', why: 'requireApproval of the agent: files:* is asked' });
  expect(decide([], { ...shell, requireApproval: true }, {}, { 'shell:run': false })).toEqual({
    decision: 'allow',
    why: 'requireApproval of the agent: shell:run is allowed',
  });
  expect(decide([{ tool: 'shell:run', decide: 'allow' }], shell, {}, { 'shell:run': true }).decision).toBe('ask');
  expect(decide([{ tool: 'shell:run', decide: 'deny' }], shell, {}, { 'shell:run': false }).decision).toBe('deny');
});

describe('rules that say auto', () => {
  const auto: ApprovalRule = { tool: 'shell:run', decide: 'auto' };
  const judged = expect.objectContaining({ decision: 'ask', auto: true });

  test('are weaker than ask and deny, and stronger than allow', () => {
    expect(decide([auto], shell, { command: 'ls' })).toEqual({ decision: 'ask', auto: true, why: 'rule 1 of the agent: shell:run is judged by a model first' });
    expect(decide([auto, { tool: '*', decide: 'allow' }], shell, { command: 'ls' })).toEqual(judged);
    expect(decide([auto, { tool: '*', decide: 'ask' }], shell, { command: 'ls' })).not.toHaveProperty('auto');
    expect(decide([auto, { tool: '*', decide: 'deny' }], shell, { command: 'ls' }).decision).toBe('deny');
    expect(decide([auto], shell, { command: 'ls' }, { 'shell:*': true })).not.toHaveProperty('auto');
    expect(decide([auto], shell, { command: 'ls' }, { 'shell:*': false })).toEqual(judged);
  });

  test('stand in for a person only where rules cover the whole command, and are asked about what they could mean of what is allowed', () => {
    const git: ApprovalRule = { tool: 'shell:run', when: { command: 'git *' }, decide: 'auto' };
    expect(decide([git], shell, { command: 'git push' })).toEqual(judged);
    expect(decide([git], shell, { command: 'git push; rm -rf /' })).toEqual({
      decision: 'ask',
      why: 'no rule of the agent matches; shell:run may change something, so it needs an approval',
    });
    expect(decide([git, { tool: 'shell:run', when: { command: 'npm test' }, decide: 'allow' }], shell, { command: 'git pull && npm test' })).toEqual(judged);
    expect(decide([git, { tool: '*', decide: 'allow' }], shell, { command: 'ls && git $X' })).toEqual(judged);
    expect(decide([git, { tool: '*', decide: 'allow' }], shell, { command: 'ls' }).decision).toBe('allow');
  });

  test('a tool that may destroy what is outside of the sandbox is left to a person', () => {
    const eraser = { ...shell, annotations: { destructiveHint: true } };
    expect(decide([auto], { ...eraser, isolation: 'container' }, { command: 'ls' })).toEqual(judged);
    expect(decide([auto], { ...eraser, isolation: 'host' }, { command: 'ls' })).toEqual({
      decision: 'ask',
      why: 'rule 1 of the agent: shell:run is judged by a model first; but shell:run may destroy something outside of the sandbox, so a person decides',
    });
  });
});
