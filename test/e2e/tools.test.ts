import { fileURLToPath } from 'node:url';
import { installAgents, type Installation } from './support.ts';

const desk = fileURLToPath(new URL('../fixtures/plugins/desk', import.meta.url));
let installation: Installation;

beforeAll(async () => {
  const tools = { plugins: [desk], tools: ['files:read', 'desk:*'] };
  installation = await installAgents({
    searcher: {
      ...tools,
      deferTools: { over: 0 },
      steps: [
        { call: 'tool_search', with: { query: 'keep a reminder', limit: 1 }, expect: { found: ['desk:remind'] } },
        {
          call: 'desk__remind',
          with: { text: 'water the plants', user_id: 'somebody-else', stream_id: 'conv_other' },
          expect: { outcome: 'created', path: '/home/user/files/reminder.txt', user: 'user-1', isHere: true },
        },
        { call: 'files:read', with: { path: 'files/reminder.txt' }, expect: { text: 'water the plants' } },
        // It was never looked for; its brief was enough.
        { call: 'desk:look', with: {}, expect: { kept: 'water the plants' } },
        { say: 'Kept.' },
      ],
    },
    watchman: {
      ...tools,
      approval: [{ tool: 'files:read', when: { path: '/etc/*' }, decide: 'ask' }],
      steps: [
        { call: 'desk:look', with: {}, expect: { kept: 'water the plants' } },
        { call: 'desk:remind', with: { text: 'x' }, expect: { isError: true, text: '/^Unknown tool "desk:remind". Available: desk:look, files:read/' } },
        { call: 'files:read', with: { path: '/etc/passwd' }, expect: { isError: true, text: '/^Denied by policy: no person can approve it/' } },
        { say: 'All quiet.' },
      ],
    },
  });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

test('a tool that was found by a search is called for the user that the host knows, with a store, files, messages and notes', async () => {
  const chat = await installation.longshore.start({ agent: 'searcher', user: 'user-1', message: 'Begin.' });
  expect(await chat.reply()).toBe('Kept.');
  const events = await installation.store.events.read(chat.id, 0);
  const sent = events.flatMap((event) => (event.type === 'message.sent' ? [event.data] : []));
  expect(sent).toMatchObject([{ tool: 'desk:remind', index: 0, part: { type: 'text', text: 'Kept: water the plants' } }]);
  const notes = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
  expect(notes).toEqual(['desk:remind said to the user: Kept: water the plants', 'From desk:remind: The desk is tidy.']);
  expect(events.find(({ type, data }) => type === 'tool.requested' && data['tool'] === 'desk:remind')?.data).toMatchObject({
    arguments: { text: 'water the plants' },
    decision: 'allow',
    why: 'rule 1 of the agent: * is allowed',
  });
  await chat.close();
});

test('an unattended conversation runs only what reads and needs no approval', async () => {
  const chat = await installation.longshore.start({ agent: 'watchman', user: 'user-1', message: 'Watch.', unattended: true });
  expect(await chat.reply()).toBe('All quiet.');
  expect(await chat.status()).toMatchObject({ unattended: true, pendingApprovals: [] });
  const requested = (await installation.store.events.read(chat.id, 0)).flatMap(({ type, data }) => (type === 'tool.requested' ? [data['decision']] : []));
  expect(requested).toEqual(['allow', 'invalid', 'deny']);
  await chat.close();
});
