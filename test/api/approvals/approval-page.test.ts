import { approvalPage } from '../../../src/api/approvals/approval-page.ts';

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

test('a sign-in is another question, and only where Longshore asks it', () => {
  const question = { ...shown, tool: 'far:elicitation/create', arguments: { url: 'https://longshore.example/oauth/sign-in/x', signIn: true } };
  const page = approvalPage(question, 'token');
  expect(page).toContain(
    'A call of the agent <b>planner</b> waits until its user has signed in, on the page at <code>url</code> (<b>far:elicitation/create</b>):',
  );
  expect(page).toContain('The user has signed in</button>');
  expect(approvalPage({ ...question, tool: 'shell:run' }, 'token')).toContain('May this call run?');
});
