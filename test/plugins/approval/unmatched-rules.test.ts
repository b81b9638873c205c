import { unmatchedRules } from '../../../src/plugins/approval/unmatched-rules.ts';

const tools = [
  { id: 'shell:run', pluginId: 'shell' },
  { id: '@acme/notes:add', pluginId: '@acme/notes' },
];

test('rules and overrides that match nothing are reported, except those for servers', () => {
  const policy = {
    mcp: { calendar: { url: 'http://localhost', headers: {}, timeoutMs: 1 } },
    approval: [
      { tool: 'shel:run', decide: 'deny' },
      { tool: 'shell:*', plugin: 'notes', decide: 'ask' },
      { tool: '@acme/notes:*', decide: 'allow' },
      { tool: 'calendar:book', decide: 'deny' },
      { plugin: 'calendar', decide: 'deny' },
      { annotation: 'destructiveHint', decide: 'ask' },
    ],
    requireApproval: { '*': true, 'shell:rum': false },
  } satisfies Parameters<typeof unmatchedRules>[0];
  expect(unmatchedRules(policy, tools)).toEqual([
    'approval[0]: there is no tool shel:run',
    'approval[1]: there is no plugin notes',
    'requireApproval: there is no tool shell:rum',
  ]);
});
