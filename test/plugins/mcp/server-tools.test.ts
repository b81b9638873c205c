import { toolsOf } from '../../../src/plugins/mcp/server-tools.ts';

test('a tool that runs only as a task is left out, and that is told', () => {
  const inputSchema = { type: 'object' };
  const listed = [undefined, 'forbidden', 'optional', 'required'].map((taskSupport, index) => ({
    name: `t${index}`,
    inputSchema,
    ...(taskSupport && { execution: { taskSupport } }),
  }));
  const { tools, problems } = toolsOf('server', listed, { toolTimeoutMs: 1_000 } as never, () => ({ isolation: 'host', execute: async () => null }));
  expect(tools.map(({ id }) => id)).toEqual(['t0', 't1', 't2']);
  expect(problems).toEqual(['Its tool "t3" is left out: it runs only as a task (execution.taskSupport is "required"), and tasks of servers are not supported']);
});
