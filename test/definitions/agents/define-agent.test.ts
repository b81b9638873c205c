import { defineAgent, type AgentDefinition } from '../../../src/definitions/agents/define-agent.ts';

test('an agent in TypeScript has the keys of a file, and durations as texts or milliseconds', () => {
  const agent = defineAgent(
    { id: 'fixer', model: 'scripted/fix.yaml', sandbox: { idle: { freeze: '10s', stop: 5000 } }, budget: { wallTime: '1h' } },
    { directory: '/agents' },
  );
  expect(agent).toMatchObject({
    model: 'scripted//agents/fix.yaml',
    sandbox: { freezeAfterMs: 10_000, stopAfterMs: 5000, onClose: 'destroy' },
    budget: { turns: 50, wallTimeMs: 3_600_000 },
  });
});

test('a bad one is refused with its id, path, value and fix', () => {
  const wrong = { id: 'fixer', model: 'a/b', tool: ['shell:run'] } as AgentDefinition;
  expect(() => defineAgent(wrong)).toThrow('agent "fixer": tool: this key is not known. Did you mean "tools"?');
});

test.each(['modelOptions', 'agents', 'requireApproval', 'output'])('a key of %s that would be lost is refused', (key) => {
  const wrong = { id: 'fixer', model: 'a/b', [key]: JSON.parse('{ "__proto__": true }') as object } as unknown as AgentDefinition;
  expect(() => defineAgent(wrong)).toThrow(`${key}.__proto__: is no name that a key can have`);
});
