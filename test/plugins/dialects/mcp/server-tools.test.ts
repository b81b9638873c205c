import { offersIn } from '../../../../src/plugins/dialects/mcp/offers/offered-tools.ts';
import { askForTools } from '../../../../src/plugins/dialects/mcp/ask-for-tools.ts';
import { toolsOf } from '../../../../src/plugins/dialects/mcp/server-tools.ts';

test('a tool that runs only as a task is left out, and that is told', () => {
  const inputSchema = { type: 'object' };
  const listed = [undefined, 'forbidden', 'optional', 'required'].map((taskSupport, index) => ({
    name: `t${index}`,
    inputSchema,
    ...(taskSupport && { execution: { taskSupport } }),
  }));
  const { tools, problems } = toolsOf('server', { tools: listed }, { toolTimeoutMs: 1_000 } as never, () => ({ isolation: 'host', execute: async () => null }));
  expect(tools.map(({ id }) => id)).toEqual(['t0', 't1', 't2']);
  expect(problems).toEqual(['Its tool "t3" is left out: it runs only as a task (execution.taskSupport is "required"), and its server does not offer tasks']);
});

test('pages of tools that were not asked for are told', async () => {
  let page = 0;
  const listing = (pages: number) => ({
    callServer: async () => {
      page += 1;
      const tools = [{ name: `t${page}`, inputSchema: { type: 'object' } }];
      return { outcome: 'answered' as const, result: { tools, ...(page < pages && { nextCursor: String(page) }) }, server: { name: 's', version: '1' } };
    },
    forget: async () => undefined,
  });
  const found = async (pages: number) => {
    page = 0;
    const { tools } = await askForTools(listing(pages), {} as never, { timeoutMs: 1_000 });
    return toolsOf('server', { tools }, { toolTimeoutMs: 1_000 } as never, () => ({ isolation: 'host', execute: async () => null }));
  };
  expect(await found(50)).toMatchObject({ tools: { length: 50 }, problems: [] });
  const { tools, problems } = await found(51);
  expect(tools).toHaveLength(50);
  expect(problems).toEqual(['Its list of tools has more than 50 pages; tools of those after them are left out']);
});

test.each([
  [{ requests: { tools: { call: {} } } }, ['tools', 'tasks']],
  [{ list: {}, cancel: {} }, ['tools']],
])('a server makes calls tasks only if it says so of calls: %j', (tasks, offers) => {
  expect(offersIn({ tools: {}, tasks })).toEqual(offers);
});
