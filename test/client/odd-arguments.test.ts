import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Longshore } from '../../src/client.ts';
import { runCommand } from '../../src/platform/run-command.ts';
import { newConversation } from '../store/support.ts';
import { builtModule } from '../support/built-programs.ts';
import { LARGE_VALUES, ODD_VALUES, openClient, start, wrongAnswers } from './odd-calls.ts';

type Client = Awaited<ReturnType<typeof openClient>>;
const JSON_ONLY = 'Give a value that JSON has: a text, a finite number, true, false, null, a list or a plain object';
async function* chunks(...given: unknown[]) {
  yield* given as Uint8Array[];
}

let client: Client;
let stack: Client['stack'];
let longshore: Longshore;
let conversationId: string;

beforeAll(async () => {
  client = await openClient();
  ({ stack, longshore } = client);
  conversationId = await newConversation(stack.store);
});
afterAll(async () => await client[Symbol.asyncDispose]());

test.each(ODD_VALUES)('%s is an argument, and a field, that every method takes or refuses with an error of the table', async (_, make) => {
  expect(await wrongAnswers(longshore, make)).toEqual([]);
});

// Each method is given one of them, at one place; odd-arguments.proof.test.ts gives all at every place.
test.each(LARGE_VALUES.map(([name, make], number) => ({ name, make, number })))(
  '$name is taken or refused with an error of the table wherever it is given',
  async ({ make, number }) => {
    const isTurnOf = (method: number) => method % LARGE_VALUES.length === number;
    const wrong = await wrongAnswers(longshore, make, ({ method, at, of }) => isTurnOf(method) && at === method % of);
    expect(wrong).toEqual([]);
  },
);

test.each([
  [
    'an unknown option',
    { ...start, mesage: 'Hi' },
    'options of start: "mesage" is no option. Use agent, user, message, attachments, output, clientTools, tenant, unattended, closeWhenDone, conversationId',
  ],
  ['a number as a user', { ...start, user: 7 }, 'options of start.user: it is 7. Give a text'],
  ['a user of spaces', { ...start, user: '  ' }, 'options of start.user: "  " cannot be used. Write 1 to 200 characters'],
  ['a NUL in a tenant', { ...start, tenant: 'a\0' }, 'options of start.tenant: "a\\u0000" has a NUL character at position 1. Write 1 to 200 characters'],
  ['a number as a message', { ...start, message: 7 }, 'Message refused: it is 7, and not a text. Give a string'],
  ['parts as a message', { ...start, message: [{ type: 'text' }] }, 'Message refused: it is an array, and not a text. Give a string'],
  ['a NUL in a message', { ...start, message: 'a\0b' }, 'Message refused: it has a NUL character at position 1. Leave it out'],
  ['half a character', { ...start, message: 'ab\uDC00' }, 'Message refused: it has half a character (a lone surrogate) at position 2. Leave it out'],
  [
    'a number as an id',
    { ...start, conversationId: 5 },
    'conversationId: 5 cannot be used. Write 1 to 128 letters, digits, ".", "_" and "-", beginning with a letter or digit',
  ],
])('%s is named when a conversation is started', async (_, options, message) => {
  await expect(longshore.start(options as never)).rejects.toThrow(message);
});

test.each([
  [
    () => longshore.approve(conversationId, { callId: 'c', answer: 'yes' } as never),
    'options of approve.answer: it is "yes". Use one of allow, allow-once, deny',
  ],
  [() => longshore.list({ limit: Infinity }), 'filter of list.limit: it is Infinity. Give a finite number'],
  [() => longshore.list({ limit: 0 }), 'filter of list.limit: it is 0. Give 1 to 10000'],
  [
    () => longshore.send(conversationId, 'Hi', { whenBusy: 'now' } as never),
    'options of send.whenBusy: it is "now". Use one of queue, steer, interrupt, reject',
  ],
  [() => longshore.resume(conversationId, { extraTurns: -1 }), 'options of resume.extraTurns: it is -1. Give a whole number from 0'],
  [
    () => connect({ lasy: true } as never),
    'options of connect: "lasy" is no option. Use url, apiKey, temporalAddress, temporalNamespace, databaseUrl, taskQueue, agents, lazy, log',
  ],
  [() => connect({ agents: [{}] } as never), 'options of connect.agents: it is an array. Give a directory, or an array of agents'],
  [
    () => connect({ databaseUrl: 'app:Xk29vQ@db/app' }),
    'options of connect.databaseUrl: give an address such as postgres://user:password@host:port/database. Correct it',
  ],
  [() => connect(7 as never), 'options of connect: it is 7. Give an object'],
  [
    () => longshore.start({ ...start, attachments: [{ name: 'a', data: 'YQ==', title: 'b' }] } as never),
    'options of start.attachments.0: "title" is no option. Use name, mediaType, data, path',
  ],
  [
    () => longshore.start({ ...start, clientTools: { map: { description: 'Shows a map.', schema: {} } } } as never),
    'options of start.clientTools.map: "schema" is no option. Use description, parameters, output, timeout, otherwise, requireApproval',
  ],
  [
    () => longshore.start({ ...start, clientTools: { 'a map': { description: 'Shows a map.' } } }),
    'options of start.clientTools.a map: it is "a map". Has to be a letter, then letters, digits, - and _, 64 at most',
  ],
  [
    () => longshore.start({ ...start, clientTools: { map: { description: 'Shows a map.', parameters: { type: 'array' } } } }),
    'options of start.clientTools.map.parameters: has to be the JSON Schema of an object, with type: object. Correct it',
  ],
  [() => longshore.start({ ...start, output: { minimum: Infinity } }), `options of start.output.minimum: it is Infinity. ${JSON_ONLY}`],
  [
    () => longshore.giveResult(conversationId, { callId: 'c', result: { at: [new Date(0)], none: undefined } as never }),
    `options of giveResult.result.at.0: it is an object. ${JSON_ONLY}`,
  ],
  [
    () => longshore.plugins.addWebhook('gate', { endpoint: 'ship', tenat: 'a' } as never),
    'options of plugins.addWebhook: "tenat" is no option. Use endpoint, tenant',
  ],
  [() => longshore.plugins.removeWebhook('gate', 5 as never), 'webhookId: it is 5. Give a text'],
  [() => longshore.import(chunks(5)), 'archive: it is 5. Give a stream of bytes, such as createReadStream(file)'],
])('what is wrong is named: %#', async (call, message) => {
  await expect(call()).rejects.toThrow(message);
});

test('a client needs no secrets of an agent; the worker does', async () => {
  const { loadAgents } = await import('../../src/definitions/agents/load-agents.ts');
  const directory = await mkdtemp(join(tmpdir(), 'longshore-odd-'));
  await writeFile(join(directory, 'a.yaml'), 'model: openai/gpt-5\ninstructions: Key ${env.LONGSHORE_TEST_UNSET}.\n');
  await expect(loadAgents(directory)).rejects.toThrow('a.yaml:2: instructions: the environment variable LONGSHORE_TEST_UNSET is not set');
  expect((await loadAgents(directory, undefined, 'leave')).get('a')).toMatchObject({ instructions: 'Key ${env.LONGSHORE_TEST_UNSET}.' });
  // What is no secret but needed to know the agent at all is named by its variable.
  await writeFile(join(directory, 'a.yaml'), 'model: ${env.LONGSHORE_TEST_UNSET}\ninstructions: Hi.\n');
  await expect(loadAgents(directory, undefined, 'leave')).rejects.toThrow('the environment variable LONGSHORE_TEST_UNSET is not set');
  await rm(directory, { recursive: true });
});

test('any number of calls may wait on one client at once without a warning', async () => {
  const program = `
    import { connect } from '${await builtModule('client.ts')}';
    const longshore = await connect({ databaseUrl: ${JSON.stringify(stack.url)}, lazy: true });
    const waiting = Array.from({ length: 30 }, () => longshore.reply(${JSON.stringify(conversationId)}).catch((error) => error.code));
    const shared = new AbortController();
    const chat = await longshore.chat(${JSON.stringify(conversationId)});
    const followed = Array.from({ length: 30 }, async () => { for await (const _ of chat.events({ signal: shared.signal })); return 'ended'; });
    while ((await longshore.status(chat)).state === undefined);
    shared.abort();
    console.log((await Promise.all(followed)).length);
    await longshore[Symbol.asyncDispose]();
    console.log((await Promise.all(waiting)).length);`;
  const run = await runCommand(process.execPath, ['--input-type=module', '-e', program]);
  expect(run).toMatchObject({ code: 0, stderr: '', stdout: '30\n30\n' });
});
