import { readFile, writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { installAgents, resultsOf, textIn, until, untilEvent, type Installation, type ScriptedAgent, type ScriptedStep } from '../support.ts';

let installation: Installation;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-e2e-plugins-'));
  await writeFile(join(directory, 'index.ts'), plugin('one'));
  const read = async (path: string) => parse(await readFile(join('examples/agents', path), 'utf8')) as Record<string, unknown>;
  const example = async (id: string): Promise<ScriptedAgent> => {
    const { plugins, tools, approval } = await read(`${id}.yaml`);
    const { steps } = (await read(`scripts/${id}.yaml`)) as { steps: ScriptedStep[] };
    const here = (path: string) => resolve('examples/agents', path);
    const named = (plugins as (string | { path: string })[]).map((entry) => (typeof entry === 'string' ? here(entry) : { ...entry, path: here(entry.path) }));
    return { tools, approval, plugins: named, steps };
  };
  const call = (expect: string) => ({ call: 'changing:tell', expect: { text: expect } });
  const caller: ScriptedAgent = { plugins: [directory], tools: ['changing:*'], steps: [call('one'), { say: 'First.' }, call('two'), { say: 'Second.' }] };
  const asker: ScriptedAgent = {
    plugins: [directory],
    tools: ['changing:*'],
    approval: [{ plugin: 'changing', decide: 'ask' }],
    steps: [{ call: 'changing:tell', expect: { isError: true } }, call('three'), { say: 'Third.' }],
  };
  const planned = await read('planner.yaml');
  const { steps: plan } = (await read('scripts/planner.yaml')) as { steps: ScriptedStep[] };
  const { calendar } = planned['mcp'] as Record<string, Record<string, unknown>>;
  const mcp = { calendar: { ...calendar, directory: resolve('examples/plugins/calendar'), env: { CALENDAR: join(directory, 'calendar.json') } } };
  const planner: ScriptedAgent = { tools: planned['tools'], approval: planned['approval'], mcp, steps: plan };
  installation = await installAgents({
    secretary: await example('secretary'),
    reader: await example('reader'),
    surveyor: await example('surveyor'),
    planner,
    caller,
    asker,
  });
  installation.environment['LONGSHORE_HOST_PLUGINS'] = 'mcp:calendar';
  installation.environment['LONGSHORE_WATCH'] = 'yes';
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

function plugin(text: string): string {
  return `import { definePlugin, defineTool } from 'longshore/plugins';
    export default definePlugin({ id: 'changing', version: '${text}', tools: [defineTool({ id: 'tell', description: 'Tells', parameters: { type: 'object' },
      async execute() { return '${text}'; } })] });`;
}

test('the example agent notes, reads and draws with the example plugins', async () => {
  const chat = await installation.longshore.start({ agent: 'secretary', user: 'user-1', message: 'Note my week.' });
  expect(await chat.reply()).toBe('Your numbers are noted, and there is a chart of them.');
  const sent = await untilEvent(chat, (event) => event.type === 'message.sent');
  expect(JSON.stringify(sent.data)).toContain('image/png');
});

test('the example reader keeps its list with a class plugin, which receives the goal that an operator sets', async () => {
  const { longshore } = installation;
  await longshore.plugins.configure('reading-list', { goal: 1 });
  await until(async () => (await longshore.plugins.get('reading-list')).reports[0]?.configVersion === 1, 'the worker has the goal');
  const chat = await longshore.start({ agent: 'reader', user: 'user-1', message: 'I have read The Shipping News.' });
  expect(await chat.reply()).toBe('It is noted as read.');
  const sent = await untilEvent(chat, (event) => event.type === 'message.sent');
  expect(sent.data).toMatchObject({ tool: 'reading-list:finish', part: { text: 'That was book 1 of this year: your goal is reached!' } });
});

test('the example agent surveys what lies in its sandbox with a tool that runs there', async () => {
  const chat = await installation.longshore.start({ agent: 'surveyor', user: 'user-1', message: 'What is there?' });
  expect(await chat.reply()).toBe('There are two files, and ships.csv is the largest.');
  expect((await resultsOf(chat))[1]).toMatchObject({
    largest: [
      { path: 'harbour/ships.csv', bytes: 3893 },
      { path: 'harbour/README.md', bytes: 10 },
    ],
  });
  await chat.close();
});

test('the example agent plans with the example server', async () => {
  const chat = await installation.longshore.start({ agent: 'planner', user: 'user-1', message: 'I have a toothache.' });
  expect(await chat.reply()).toBe("You are at the dentist's at ten on the first of March.");
  expect((await resultsOf(chat))[0]).toEqual({ free: [{ start: '2027-03-01T09:00', end: '2027-03-01T17:00' }] });
  expect(JSON.parse(await readFile(join(directory, 'calendar.json'), 'utf8'))).toEqual([
    { title: 'Dentist', start: '2027-03-01T10:00', end: '2027-03-01T10:45' },
  ]);
});

test('a plugin that changes on disk is loaded again under a conversation that uses it', async () => {
  const { longshore } = installation;
  const chat = await longshore.start({ agent: 'caller', user: 'user-1', message: 'Tell.' });
  expect(await chat.reply()).toBe('First.');
  await writeFile(join(directory, 'index.ts'), plugin('two'));
  await until(async () => (await longshore.plugins.get('changing')).reports[0]?.version === 'two', 'the worker has the new version');
  const { turnId } = await chat.send('Again.');
  expect(await chat.reply(turnId)).toBe('Second.');
});

test('a call that was asked about is not run by another version of its plugin', async () => {
  const { longshore } = installation;
  const chat = await longshore.start({ agent: 'asker', user: 'user-1', message: 'Tell.' });
  const asked = await untilEvent(chat, ({ type }) => type === 'tool.approval-requested');
  await writeFile(join(directory, 'index.ts'), plugin('three'));
  await until(async () => (await longshore.plugins.get('changing')).reports[0]?.version === 'three', 'the worker has the new version');
  await chat.approve({ callId: textIn(asked.data, 'callId'), answer: 'allow' });
  expect(await chat.reply()).toBe('Third.');
  expect((await resultsOf(chat))[0]).toEqual({
    isError: true,
    text: expect.stringContaining('changing:tell has changed since the approval of this call was requested (its plugin has version three now)') as string,
  });
});
