import { approvalPage } from '../../src/api/approvals/approval-page.ts';

const shown = { arguments: { message: '<b>Hello</b>' }, why: 'It asks.', agentId: 'planner', expiresAt: new Date(0) };

test('a question of a server is no call of the agent', () => {
  const page = approvalPage({ ...shown, tool: 'far:elicitation/create' }, 'token');
  expect(page).toContain('During a call of the agent <b>planner</b>, an MCP server asks (<b>far:elicitation/create</b>).');
  expect(page).toContain('Accept</button>');
  expect(page).not.toContain('wants to call');
  expect(page).not.toContain('<b>Hello</b>');
});

test('a call is one', () => {
  const page = approvalPage({ ...shown, tool: 'shell:run' }, 'token');
  expect(page).toContain('The agent <b>planner</b> wants to call <b>shell:run</b>:');
  expect(page).toContain('Allow once</button>');
});
