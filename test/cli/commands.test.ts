import { userInfo } from 'node:os';
import { installAgents, until, untilEvent, type Installation } from '../e2e/support.ts';
import { runLine, type CliResult } from './support.ts';

/** A clipboard, a title, a C1 control, and text that is written backwards. */
const HOSTILE = '\u001B]52;c;aGk=\u0007\u001B]0;owned\u0007\u009B2J\u202E\u{E0041}';
const HOSTILE_OUTPUT = String.raw`\033]52;c;aGk=\007\302\2332J\342\200\256out\n`;
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}]/u;

let installation: Installation;
beforeAll(async () => {
  const steps = [{ say: 'Hello.' }, { call: 'shell:run', with: { command: 'rm -f old; echo removed' } }, { say: 'It is gone.' }];
  const approval = [{ tool: 'shell:run', when: { command: 'rm *' }, decide: 'ask' }];
  const hostile = [{ call: 'shell:run', with: { command: `printf '${HOSTILE_OUTPUT}'; seq 1 40; exit 3 # \u202E` } }, { say: `${HOSTILE}said\u202E` }];
  installation = await installAgents({ scripted: { steps, approval }, hostile: { steps: hostile } });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

const line = (...args: string[]) => runLine(installation.longshore, args, { environment: installation.environment });
const jsonLines = ({ out }: CliResult) =>
  out
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text) as Record<string, unknown>);

test('run --wait --json prints the events and last the outcome, and exits with 0', async () => {
  const result = await line('run', 'scripted', '--message', 'Hi', '--wait', '--close', '--json');
  const lines = jsonLines(result);
  expect(result).toMatchObject({ code: 0, err: '' });
  expect(lines[0]).toMatchObject({ seq: 1, type: 'conversation.started' });
  const { conversationId, turnId } = lines.at(-1) as { conversationId: string; turnId: string };
  expect(lines.at(-1)).toEqual({
    type: 'outcome',
    outcome: 'finished',
    conversationId,
    turnId,
    reply: 'Hello.',
    toolCalls: [],
    usage: { inputTokens: expect.any(Number) as number, outputTokens: expect.any(Number) as number, costUsd: 0 },
  });
  expect(await installation.longshore.status(conversationId)).toMatchObject({ state: 'closed' });
});

test('run without --wait prints the id of the new conversation', async () => {
  const { out, code } = await line('run', 'scripted', '--message', 'Hi');
  expect(code).toBe(0);
  const chat = await installation.longshore.chat(out.trim());
  expect(await chat.reply()).toBe('Hello.');
  await chat.close();
});

test('run --close closes the conversation when it has answered, also without a client that waits', async () => {
  const { out } = await line('run', 'scripted', '--message', 'Hi', '--close');
  const chat = await installation.longshore.chat(out.trim());
  expect(await chat.reply()).toBe('Hello.');
  expect(await untilEvent(chat, ({ type }) => type === 'conversation.closed')).toMatchObject({ data: {} });
});

test('an approval is shown with the command that answers it, and answered once', async () => {
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', message: 'Hi' });
  await chat.reply();
  const { turnId } = await chat.send('Remove it');
  const { data } = await untilEvent(chat, (event) => event.type === 'tool.approval-requested');
  const callId = data['callId'] as string;
  const answer = ['approve', chat.id, callId, 'allow-once'];
  await until(async () => (await chat.status()).pendingApprovals.length > 0, 'the status shows the approval');
  expect(await line('show', chat.id)).toMatchObject({
    code: 0,
    out: expect.stringMatching(new RegExp(`until: \\d{4}-.*\n +answer: longshore approve ${chat.id} ${callId} allow\\|allow-once\\|deny`)) as string,
  });
  expect(await line(...answer, '--arguments', '[]')).toMatchObject({ code: 2, err: expect.stringContaining('JSON object') as string });
  expect(await line('approve', 'conv_nowhere', callId, 'allow')).toMatchObject({
    code: 1,
    err: expect.stringContaining('No conversation "conv_nowhere"') as string,
  });
  expect(await line(...answer)).toEqual({ code: 0, out: `${callId}: allow-once.\n`, err: '' });
  expect(await chat.reply(turnId)).toBe('It is gone.');
  const answered = await untilEvent(chat, (event) => event.type === 'tool.approval-resolved');
  expect(answered.data).toMatchObject({ callId, by: userInfo().username });
  expect(await line(...answer)).toMatchObject({ code: 1, err: expect.stringContaining('No pending approval') as string });
  const shown = await line('show', chat.id, '--transcript');
  expect(shown.out).toMatch(
    /user: Remove it[^]*calls shell:run {2}\$ rm -f old; echo removed\n[^]*shell:run answered: exit code 0, \d+\.\d s\n +│ removed\n[^]*agent: It is gone\./,
  );
  expect(JSON.parse((await line('show', chat.id, '--json')).out)).toMatchObject({ conversationId: chat.id, state: 'idle' });
  expect(await line('close', chat.id, '--wait')).toEqual({ code: 0, out: `${chat.id} is closed.\n`, err: '' });
});

test('a run that comes to a pause exits with 4', async () => {
  const id = `conv_${installation.name}-paused`;
  const chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', conversationId: id });
  expect(await line('pause', id, '--note', 'lunch')).toMatchObject({ code: 0 });
  await untilEvent(chat, (event) => event.type === 'conversation.paused');
  const { code, out } = await line('run', 'scripted', '--message', 'Hi', '--id', id, '--wait', '--json');
  expect(code).toBe(4);
  expect(JSON.parse(out.trim().split('\n').at(-1) ?? '')).toMatchObject({ type: 'outcome', outcome: 'paused', message: 'lunch' });
  expect(await line('resume', id, '--extra-turns', '2', '--extra-time', '10m')).toMatchObject({ code: 0 });
  await untilEvent(chat, (event) => event.type === 'conversation.resumed');
  await chat.close();
});

test('Ctrl-C in a run leaves the conversation at work and exits with 130', async () => {
  const interrupt = new AbortController();
  const id = `conv_${installation.name}-interrupted`;
  await using chat = await installation.longshore.start({ agent: 'scripted', user: 'user-1', conversationId: id });
  const running = runLine(installation.longshore, ['run', 'scripted', '--message', 'Hi', '--id', id, '--wait'], { interrupt: interrupt.signal });
  // The conversation exists and has no message, so that the run waits until it is interrupted.
  const stop = setInterval(() => interrupt.signal.dispatchEvent(new Event('abort')), 100);
  expect(await running).toMatchObject({ code: 130, err: expect.stringContaining(`longshore show ${id}`) as string });
  clearInterval(stop);
  expect(await chat.status()).toMatchObject({ state: 'idle' });
  await chat.close();
});

test('a chat answers the lines it is given, and names the conversation for later', async () => {
  const { code, out } = await runLine(installation.longshore, ['chat', 'scripted'], { input: 'Hi\n' });
  expect(code).toBe(0);
  expect(out).toContain('Hello.');
  const id = /longshore chat --conversation (\S+)/.exec(out)?.[1] ?? '';
  const second = await runLine(installation.longshore, ['chat', '--conversation', id], { input: 'Remove it\n' });
  expect(second).toMatchObject({ code: 3, out: expect.stringMatching(/! shell:run waits for approval/) as string });
  await installation.longshore.close(id);
});

test('a conversation full of codes for terminals is shown and obeyed nowhere; its failed turn is told with the reason', async () => {
  const followed = await runLine(installation.longshore, ['chat', 'hostile'], { input: `${HOSTILE}\nonce more\n` });
  const id = /longshore chat --conversation (\S+)/.exec(followed.out)?.[1] ?? '';
  // The call as a command, its output as lines, then its exit code and time.
  expect(followed.out).toMatch(/→ shell:run {2}\$ printf .*seq 1 40; exit 3 # \\u202e\n {2}│ .*out\n {2}│ 1\n/);
  expect(followed.out).toMatch(new RegExp(` {2}│ … 17 more lines: longshore sandbox logs ${id} call_\\S+-1\n✗ shell:run {2}exit code 3, \\d+\\.\\d s\n`));
  expect(followed.out).toContain('The turn ended as failed: ');
  const logs = /longshore sandbox (logs \S+ \S+)/.exec(followed.out)?.[1]?.split(' ') ?? [];
  const shown = await Promise.all([line('show', id), line('show', id, '--transcript'), line('ls'), line('sandbox', ...logs), line('show', `${id}${HOSTILE}`)]);
  const json = await Promise.all([line('show', id, '--transcript', '--json'), line('ls', '--json'), line('sandbox', 'logs', id, '--json')]);
  for (const { out, err } of [followed, ...shown, ...json]) expect((out + err).replaceAll('\n', '')).not.toMatch(UNSEEN);
  expect(shown[0].out).toMatch(/^last turn failed at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d: .*the script has no more steps/m);
  expect(shown[2].out).toMatch(new RegExp(`^${id} +hostile +cli +idle +\\S+ +2 +failed `, 'm'));
  expect(JSON.parse(json[0].out)).toMatchObject({
    lastTurn: { turnId: expect.any(String) as string, outcome: 'failed', message: expect.stringContaining('the script has no more steps') as string },
    transcript: expect.arrayContaining([expect.objectContaining({ entry: { role: 'user', content: [{ type: 'text', text: HOSTILE }] } })]) as unknown[],
  });
  expect(await line('sandbox', ...logs, '--raw')).toMatchObject({ code: 0, err: '', out: expect.stringContaining('\u001B]52;c;aGk=\u0007') as string });
  await installation.longshore.close(id);
});

test('conversations are listed as a table and as JSON', async () => {
  await using chat = await installation.longshore.start({ agent: 'scripted', user: 'lister' });
  const table = await line('ls', '--user', 'lister');
  expect(table.out).toMatch(/^CONVERSATION +AGENT +USER +STATE[^\n]*LAST TURN[^\n]*\nconv_\S+ +scripted +lister +idle +none +0 +- /);
  expect(JSON.parse((await line('ls', '--user', 'lister', '--json')).out)).toMatchObject([{ conversationId: chat.id }]);
  expect((await line('ls', '--user', 'nobody')).out).toBe('No conversations.\n');
  await chat.close();
});

test.each([
  ['an unknown command', ['frob'], 2, 'unknown command'],
  ['a missing option', ['run', 'scripted'], 2, '--message'],
  ['an empty tenant', ['run', 'scripted', '--message', 'Hi', '--tenant', ''], 2, 'options of start.tenant: "" cannot be used.'],
  ['an empty id', ['run', 'scripted', '--message', 'Hi', '--id', ''], 2, 'conversationId: "" cannot be used.'],
  ['an empty place of a fork', ['fork', 'conv_none', '--at', ''], 2, 'options of fork.at: "" cannot be used.'],
  ['an empty tenant of an erasure', ['erase', '--tenant', '', '--user', 'ada', '--yes'], 2, '--tenant: "" cannot be used.'],
  ['an empty user of an erasure', ['erase', '--tenant', 'acme', '--user', '', '--yes'], 2, '--user: "" cannot be used.'],
  ['a bad number', ['ls', '--limit', 'many'], 2, 'whole number'],
  ['a list of nothing', ['approvals', 'ls', '--limit', '0'], 2, 'Give a whole number from 1 on.'],
  ['a bad duration', ['resume', 'conv_none', '--extra-time', 'soon'], 2, '30s'],
  ['an unknown agent', ['run', 'nobody', '--message', 'Hi'], 2, 'No agent named "nobody"'],
  ['an unknown conversation', ['show', 'conv_none'], 1, 'No conversation "conv_none"'],
])('%s is said on stderr', async (_name, args, code, said) => {
  expect(await line(...args)).toMatchObject({ code, err: expect.stringContaining(said) as string });
});

test('every command explains itself', async () => {
  const { out, code } = await line('--help');
  expect(code).toBe(0);
  const commands = [...out.matchAll(/^ {2}([a-z]+) .{20,}/gm)].map((match) => match[1] ?? '').filter((name) => name !== 'help');
  expect(commands).toEqual(
    expect.arrayContaining(['dev', 'worker', 'chat', 'run', 'ls', 'show', 'pause', 'resume', 'approve', 'interrupt', 'close', 'doctor', 'setup']),
  );
  for (const command of commands)
    expect(await line(command, '--help')).toMatchObject({ code: 0, out: expect.stringContaining(`longshore ${command}`) as string });
});
