import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Chat } from '../../../src/client.ts';
import { runCommand } from '../../../src/platform/run-command.ts';
import { ownSandboxIdOf } from '../../../src/plugins/dialects/shared/python/own-sandboxes.ts';
import { runLine } from '../../cli/support.ts';
import { canInstall } from '../../support/python-packages.ts';
import { installAgents, resultsOf, textIn, until, type Installation, type ScriptedStep, type WorkerProcess } from '../support.ts';
import { withinPlugin } from './within-plugin.ts';

const PLUGIN = fileURLToPath(new URL('../../fixtures/plugins/nekro-original', import.meta.url));
const ID = 'harbour-tides';
/** An address of this machine that a sandbox could only reach through its worker. */
const ADDRESS =
  Object.values(networkInterfaces()).flatMap((of) => (of ?? []).filter(({ family, internal }) => family === 'IPv4' && !internal))[0]?.address ?? '127.0.0.1';

const python = (code: string): ScriptedStep => ({ call: 'code:run', with: { language: 'python', code } });
const javascript = (code: string): ScriptedStep => ({ call: 'code:run', with: { language: 'javascript', code } });

const TALKS = `
from longshore import tools
print(remark('calm'), '|', remark(text='rough'))
print(tools['${ID}:count']()['total'], count()['in_memory'])
seen = look()
print(seen['adapter'], seen['is_own'], seen['agent'], seen['workspace'], [name for name in seen['variables'] if 'HARBOUR' in name or 'DATABASE' in name])
for attempt in (users, lambda: remark('x', 'conv_of_somebody_else'), lambda: tide(), lambda: tools['${ID}:not_collected'](), lambda: loud('/home/user/none.txt')):
    try:
        print(attempt())
    except Exception as error:
        print(getattr(error, 'code', type(error).__name__), error)
`;
const FILES = `
import os
os.makedirs('/home/user/logs')
open('/home/user/logs/a.txt', 'w').write('one')
open('b.txt', 'w').write('two')
for path in loud('/home/user/logs/a.txt', others=['b.txt']):
    print(path, open(path).read())
`;
const ASKS = `
from longshore import ToolError
try:
    print(tide('north', days=[1])['tide'])
except ToolError as error:
    print(error.code)
`;
const SUMMARIZES = `
for group in ('default', 'other'):
    try:
        print(summarize('The tide is high at noon.', group))
    except Exception as error:
        print(error)
`;
const agent = (steps: ScriptedStep[]) => ({ plugins: [PLUGIN], tools: ['code:*', `${ID}:*`], steps });
const withPackages = (await canInstall('pydantic')) ? describe : describe.skip;

let installation: Installation;
let worker: WorkerProcess;
let office: Server;
let asked: string[];
beforeAll(async () => {
  asked = [];
  office = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end('high at noon');
  }).listen(0, ADDRESS);
  await once(office, 'listening');
  installation = await installAgents({
    talker: agent([python(TALKS), { say: 'Talked.' }]),
    ender: agent([python("judge('the tide')\nprint('not reached')"), python("draw()\nprint('not reached')"), { say: 'Seen.' }]),
    copier: agent([python(FILES), javascript("console.log((await count()).total > 0, await remark('flat'))"), { say: 'Copied.' }]),
    sailor: agent([python(ASKS), { say: 'Denied.' }, python(ASKS), { say: 'Granted.' }, python(ASKS), { say: 'Revoked.' }]),
    writer: agent([python("print(wait_for('a'))"), { say: 'Written.' }]),
    summarizer: {
      ...agent([python(SUMMARIZES), { say: 'Summarized.' }]),
      budget: { tokens: 100_000 },
      plugin: { say: 'High at noon.', usage: { inputTokens: 300, outputTokens: 20 } },
    },
    viewer: {
      ...agent([python('print(view())'), { say: 'Viewed.' }]),
      budget: { tokens: 100_000 },
      plugin: { say: 'A harbour.', usage: { inputTokens: 300, outputTokens: 20 } },
    },
    // A turn of a command has two answers, of which the script knows nothing.
    commander: agent([...Array.from({ length: 6 }, () => ({ say: 'Not asked.' })), { say: 'Asked.' }]),
    counter: agent([python('print(count())'), { say: 'Counted.' }, python('print(count())'), { say: 'Again.' }]),
  });
  Object.assign(installation.environment, { HARBOUR_SECRET: 'sesame', LONGSHORE_EGRESS_ADDRESSES: ADDRESS });
});
afterAll(async () => {
  await installation?.[Symbol.asyncDispose]();
  office.close();
});

const within = (tenant: string, command: string) => withinPlugin(installation, ID, tenant, command);
const start = (name: string, tenant?: string) =>
  installation.longshore.start({ agent: name, user: 'user-1', message: 'Begin.', ...(tenant !== undefined && { tenant }) });
const line = async (...args: string[]) => expect(await runLine(installation.longshore, ['plugins', ...args])).toMatchObject({ code: 0 });
const officeAt = () => `${ADDRESS}:${(office.address() as AddressInfo).port}`;

async function linesOf(chat: Chat): Promise<string[][]> {
  return (await resultsOf(chat)).map((result) => textIn(result, 'stdout').trimEnd().split('\n'));
}

async function sentBy(chat: Chat): Promise<unknown[]> {
  return (await installation.store.events.read(chat.id, 0)).flatMap((event) => (event.type === 'message.sent' ? [event.data.part] : []));
}

withPackages('a plugin that is written for Nekro Agent, in Python', () => {
  test('a call by its bare name that is under way when its worker is killed takes effect once', async () => {
    worker = installation.startWorker();
    await worker.ready;
    expect((await installation.longshore.plugins.get(ID)).reports).toMatchObject([{ health: 'loaded' }]);
    const chat = await start('writer');
    await until(async () => (await within('default', 'cat data/plugin/log')) === 'begin a\n', 'the plugin has the call');
    await worker.kill();
    await within('default', 'touch data/plugin/go-on');
    worker = installation.startWorker();
    await worker.ready;
    expect(await chat.reply()).toBe('Written.');
    expect(await linesOf(chat)).toEqual([['wrote a']]);
    expect(await within('default', 'cat data/plugin/log')).toBe('begin a\nend a\n');
    const logged = await within('default', 'cat /home/.longshore/execs/mcp-plugin-*/stderr');
    expect(logged).toContain('INFO plugin: loaded with http://tides.test\na line that is not part of the protocol\n');
    await chat.close();
  }, 300_000);

  test('code calls methods with what they need, and what does not exist here or belongs to others is refused by name', async () => {
    const chat = await start('talker');
    expect(await chat.reply()).toBe('Talked.');
    const [lines = []] = await linesOf(chat);
    expect(lines).toEqual([
      'kept calm, 0 | kept rough, 1',
      '1 2',
      'longshore True talker None []',
      `TOOL_FAILED ${ID}:users failed: NotSupported: nekro_agent.models.db_user.DBUser.filter is not supported in Longshore: the database of Nekro Agent is not here; keep data in plugin.store or below plugin.get_plugin_data_dir()`,
      `TOOL_FAILED ${ID}:remark failed: ValueError: the store has no entries of another conversation ("conv_of_somebody_else") for this one; chat_key is "${chat.id}" here, or empty`,
      `TypeError ${ID}:tide: missing a required argument: 'harbour'`,
      expect.stringMatching(new RegExp(`^TOOL_NOT_FOUND no tool ${ID}:not_collected`)),
      expect.stringContaining('the file /home/user/none.txt of the conversation is not here'),
    ]);
    const notes = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
    expect(notes).toEqual(expect.arrayContaining([`From ${ID}:remark: remarked calm`, `From ${ID}:remark: remarked rough`]));
    const prompts = (await within('default', 'cat data/plugin/prompts')).split('\n').filter((prompt) => prompt.startsWith(chat.id));
    expect([prompts[0], prompts.at(-1)]).toEqual([`${chat.id} None`, `${chat.id} rough`]);
    await chat.close();
  }, 300_000);

  test('a method asks the model of the agent, and what that uses counts for the conversation', async () => {
    const chat = await start('summarizer');
    expect(await chat.reply()).toBe('Summarized.');
    expect(await linesOf(chat)).toEqual([
      [
        'High at noon. (320)',
        `${ID}:summarize failed: KeyError: "there is no group of models 'other' in Longshore; give the setting of the plugin the value 'default', which is the model of the agent"`,
      ],
    ]);
    expect((await chat.status()).tokensUsed).toBeGreaterThanOrEqual(320);
    await chat.close();
  }, 300_000);

  test('the model of the agent is shown images', async () => {
    const chat = await start('viewer');
    expect(await chat.reply()).toBe('Viewed.');
    expect(await linesOf(chat)).toEqual([['A harbour.']]);
    await chat.close();
  }, 300_000);

  test('a message that is a command is answered by the plugin, without the model', async () => {
    const chat = await installation.longshore.start({ agent: 'commander', user: 'user-1', message: '/say Ada Is it "high"?' });
    expect(await chat.reply()).toBe('user-1 to Ada:\nIs it "high"?');
    const say = async (message: string) => {
      await chat.send(message);
      return chat.reply();
    };
    expect(await say('/harbour_tides:说 words:low to:Ben')).toBe('user-1 to Ben:\nlow');
    expect(await say('/say')).toBe('to is missing. Usage: /say <to> <words>');
    expect(await say('/saying')).toBe('Asked.');
    await chat.close();
  }, 300_000);

  test('AGENT and MULTIMODAL_AGENT end the program, and the model goes on with what they return', async () => {
    const chat = await start('ender');
    expect(await chat.reply()).toBe('Seen.');
    const contents = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'tool' ? [entry.content] : []));
    expect(contents[0]?.at(-1)).toMatchObject({ type: 'text', text: 'What do you think of the tide?' });
    expect(contents[1]?.slice(-2)).toMatchObject([
      { type: 'text', text: 'the chart' },
      { type: 'image', mediaType: 'image/png' },
    ]);
    expect(JSON.stringify(contents)).not.toContain('not reached');
    await chat.close();
  }, 300_000);

  test('files that arguments name are brought to the plugin, and what it makes is brought to the code and to the user', async () => {
    const chat = await start('copier');
    expect(await chat.reply()).toBe('Copied.');
    const [files = [], second = []] = await linesOf(chat);
    expect(files).toEqual([
      expect.stringMatching(/^\/home\/user\/files\/[\w.-]+\/a\.txt ONE$/),
      expect.stringMatching(/^\/home\/user\/files\/[\w.-]+\/b\.txt TWO$/),
    ]);
    expect(second).toEqual(['true kept flat, 0']);
    expect(await sentBy(chat)).toMatchObject([
      { type: 'file', mediaType: 'text/plain', name: 'b.txt', data: Buffer.from('TWO').toString('base64') },
      { type: 'image', mediaType: 'image/png' },
    ]);
    await chat.close();
  }, 300_000);

  test('it reaches what operators grant, with the configuration that they set, until they take it back', async () => {
    const { plugins } = installation.longshore;
    await line('config', ID, '--set', `ADDRESS=http://${officeAt()}`);
    await until(async () => (await plugins.get(ID)).reports[0]?.configVersion === 1, 'the worker has the address');
    const refused = (host: string) => `Longshore egress: ${host}: this host is not on the list of the sandbox`;
    const chat = await start('sailor');
    expect(await chat.reply()).toBe('Denied.');
    expect(asked).toEqual([]);
    await line('grant', ID, '--network', officeAt());
    const egress = async () => JSON.stringify((await installation.store.sandboxes.get(ownSandboxIdOf(ID, 'default')))?.options['egress']);
    await until(async () => (await egress()).includes(ADDRESS), 'the grant has come');
    await chat.send('Again.');
    expect(await chat.reply()).toBe('Granted.');
    await line('revoke', ID);
    await until(async () => (await egress()) === '[]', 'the grant is gone');
    await chat.send('Again.');
    expect(await chat.reply()).toBe('Revoked.');
    expect(await linesOf(chat)).toEqual([[refused(officeAt())], ['high at noon'], [refused(officeAt())]]);
    expect(asked).toEqual(['/tides/north']);
    expect(await sentBy(chat)).toEqual(Array.from({ length: 3 }, () => ({ type: 'text', text: 'Asking for north …' })));
    await until(async () => (await within('default', 'cat data/plugin/log')).includes('ended\n'), 'the process with the earlier configuration has ended');
    await chat.close();
  }, 300_000);

  test('its files last when its container has died, and those of another tenant are others', async () => {
    const chat = await start('counter', 'another');
    expect(await chat.reply()).toBe('Counted.');
    const row = await installation.store.sandboxes.get(ownSandboxIdOf(ID, 'another'));
    await runCommand('docker', ['kill', row?.containerName ?? '']);
    await chat.send('Again.');
    expect(await chat.reply()).toBe('Again.');
    expect(await linesOf(chat)).toEqual([["{'total': 1, 'in_memory': 1}"], ["{'total': 2, 'in_memory': 1}"]]);
    await chat.close();
  }, 300_000);

  test('plugins check says what it offers and what of it does not work here, before any agent has it', async () => {
    const { code, out } = await runLine(undefined, ['plugins', 'check', PLUGIN], { environment: installation.environment });
    expect(code).toBe(0);
    expect(out).toMatch(/^harbour-tides 1\.3\.0\+[0-9a-f]{16} \(nekro\), 14 tools\npermissions: none\nconfiguration: \{/);
    expect(out).toContain('"x-secret":true');
    expect(out).toContain(`\n${ID}:tide, 潮汐查询 (tool, hidden, own)\n`);
    expect(out).toContain(`\n${ID}:command.tide (tool, hidden, own)\n`);
    expect(out).toContain(
      'warning: It imports nekro_agent.models.db_user.DBUser, which is refused when it is used: the database of Nekro Agent is not here; keep data in plugin.store or below plugin.get_plugin_data_dir()\n',
    );
  }, 120_000);
});
