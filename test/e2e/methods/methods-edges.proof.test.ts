import { fileURLToPath } from 'node:url';
import type { Chat } from '../../../src/client.ts';
import { installAgents, resultsOf, textIn, until, untilEvent, type Installation, type ScriptedStep, type WorkerProcess } from '../support.ts';

const LAB = fileURLToPath(new URL('../fixtures/lab', import.meta.url));

function program(language: 'python' | 'javascript', code: string): ScriptedStep {
  return { call: 'code:run', with: { language, code } };
}

function agent(steps: ScriptedStep[], more: object = {}) {
  const approval = [
    { tool: 'lab:append', decide: 'ask' },
    { tool: '*', decide: 'allow' },
  ];
  return { plugins: [LAB], tools: ['shell:*', 'code:*', 'lab:*'], approval, steps: [...steps, { say: 'Done.' }], ...more };
}

const WAITS_IN_JAVASCRIPT = `
let kept = 1;
for (const line of ['plain', 'refused', 'edit']) {
  kept += 1;
  try {
    console.log(kept, (await append({ line })).written);
  } catch (error) {
    console.log(error.code, error.message);
  }
}
`;

const EXPIRES = `
try { await append('late'); } catch (error) { console.log(error.name, error.code, error.message); }
`;

const CONCLUDES = `
try {
  console.log('before');
  await lab_search('dogs');
  console.log('after');
} finally {
  console.log('at the end');
}
`;

const AGENT_BESIDE_OTHERS = `
import asyncio
from longshore import tools
async def main():
    waiting = asyncio.create_task(tools.aio.lab.append(line='never'))
    await asyncio.sleep(0.3)
    await asyncio.gather(waiting, tools.aio.lab.search(query='birds'), tools.aio.lab.search(query='fish'))
asyncio.run(main())
`;

const LARGE = `
print(len(remark('x' * 900_000)), len(tools.lab.long(size=990_000)))
`;

const DISABLED = `
import time
from longshore import tools, ToolError
print(look('once')['key'])
remark('go')
while True:
    try:
        look('again')
        time.sleep(0.05)
    except ToolError as error:
        print(type(error).__name__, error.code)
        break
try:
    remark('more')
except ToolError as error:
    print(type(error).__name__, error.code)
`;

/** What a turn's code does, and whether the model is asked once more after it. */
const TURNS: [what: string, step: ScriptedStep, goesOn: boolean][] = [
  ['a program that prints nothing', program('python', "remark('one')\nlab_remark('two')"), false],
  ['a command', { call: 'shell:run', with: { command: `python3 -c "from longshore import tools; tools.lab.remark('three')"` } }, false],
  ['the last line of a context, which is what was noted', { call: 'code:run', with: { language: 'python', context: 'c', code: "remark('four')" } }, false],
  ['the same in JavaScript', { call: 'code:run', with: { language: 'javascript', context: 'c', code: "await remark('five')" } }, false],
  ['a program that prints', program('python', "print(remark('six'))"), true],
  ['another value', { call: 'code:run', with: { language: 'python', context: 'c', code: "len(remark('seven'))" } }, true],
  ['a call of another kind beside it', program('python', "look('a')\nremark('eight')"), true],
  ['a failure that the program hides', program('python', "remark('nine')\ntry:\n    fail()\nexcept Exception:\n    pass"), true],
  ['a program that fails', program('python', "remark('ten')\nraise SystemExit(3)"), true],
  ['a program that calls nothing', program('python', 'pass'), true],
];

let installation: Installation;
let worker: WorkerProcess;
beforeAll(async () => {
  installation = await installAgents({
    waits: agent([program('javascript', WAITS_IN_JAVASCRIPT), { call: 'shell:run', with: { command: 'cat lab.log' } }]),
    expires: agent([program('javascript', EXPIRES)], { approvalTimeout: '300ms' }),
    concludes: agent([program('javascript', CONCLUDES)]),
    beside: agent([program('python', AGENT_BESIDE_OTHERS), { call: 'shell:run', with: { command: 'cat lab.log 2>/dev/null; echo end' } }]),
    large: agent([program('python', LARGE)]),
    disabled: agent([program('python', DISABLED)]),
    notes: agent(TURNS.flatMap(([, step, goesOn]) => [step, ...(goesOn ? [{ say: 'I have read it.' }] : [])])),
  });
  worker = installation.startWorker();
  await worker.ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

const start = (name: string) => installation.longshore.start({ agent: name, user: 'user-1', message: 'Begin.' });
const linesOf = async (chat: Chat) => (await resultsOf(chat)).map((result) => textIn(result, 'stdout').trimEnd().split('\n'));

async function untilAsked(chat: Chat, line: string): Promise<string> {
  const asked = async () => (await chat.status()).pendingApprovals.find(({ arguments: given }) => given?.['line'] === line);
  await until(async () => (await asked()) !== undefined, `${line} is asked about`);
  return (await asked())?.callId ?? '';
}

test('JavaScript waits in mid-line over the death of its worker; what is approved, denied or edited is its value or its exception', async () => {
  const chat = await start('waits');
  const plain = await untilAsked(chat, 'plain');
  await worker.kill();
  worker = installation.startWorker();
  await worker.ready;
  await chat.approve({ callId: plain, answer: 'allow-once' });
  await chat.approve({ callId: await untilAsked(chat, 'refused'), answer: 'deny', reason: 'not that one' });
  await chat.approve({ callId: await untilAsked(chat, 'edit'), answer: 'allow-once', editedArguments: { line: 'edited' } });
  expect(await chat.reply()).toBe('Done.');
  expect(await linesOf(chat)).toEqual([
    ['2 plain', 'TOOL_DENIED Denied by an operator: not that one', '4 edited'],
    ['plain', 'edited'],
  ]);
  await chat.close();
}, 180_000);

test('an approval that is not given in time is a rejected promise in JavaScript', async () => {
  const chat = await start('expires');
  expect(await chat.reply()).toBe('Done.');
  expect(await linesOf(chat)).toEqual([['ToolError TOOL_DENIED This call was not approved in time; it was not run.']]);
  await chat.close();
}, 180_000);

test('an agent tool ends JavaScript at its call, and what it told goes to the model', async () => {
  const chat = await start('concludes');
  expect(await chat.reply()).toBe('Done.');
  const [content] = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'tool' ? [entry.content] : []));
  expect(content).toMatchObject([{ text: expect.stringContaining('"stdout":"before\\n"') }, {}, { text: 'found about dogs' }]);
  await chat.close();
}, 180_000);

test('an agent tool ends the code in the midst of other calls: the first one counts, and what waits is withdrawn', async () => {
  const chat = await start('beside');
  expect(await chat.reply()).toBe('Done.');
  const [content] = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'tool' ? [entry.content] : []));
  expect(content).toMatchObject([{}, {}, { text: expect.stringMatching(/found about/) }]);
  expect((await chat.status()).pendingApprovals).toEqual([]);
  expect((await resultsOf(chat)).at(-1)).toMatchObject({ stdout: 'end\n' });
  await chat.close();
}, 180_000);

test('arguments and results of nearly a megabyte pass', async () => {
  const chat = await start('large');
  expect(await chat.reply()).toBe('Done.');
  expect(await linesOf(chat)).toEqual([['900009 990000']]);
  await chat.close();
}, 180_000);

test('code that only had things noted and says nothing ends the turn; the model reads the notes in the next', async () => {
  const chat = await start('notes');
  let { turnId } = await untilEvent(chat, ({ type }) => type === 'turn.started');
  const seen: [string, boolean][] = [];
  for (const [index, [what]] of TURNS.entries()) {
    if (index > 0) ({ turnId } = await chat.send('Go on.'));
    await untilEvent(chat, (event) => event.type === 'turn.finished' && event.turnId === turnId);
    const entries = (await chat.transcript()).filter((stored) => stored.turnId === turnId);
    seen.push([what, entries.at(-1)?.entry.role === 'assistant']);
  }
  expect(seen).toEqual(TURNS.map(([what, , goesOn]) => [what, goesOn]));
  const notes = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
  const lines = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
  expect(notes).toEqual(lines.map((line) => `lab:remark: remarked ${line}`));
  await chat.close();
}, 240_000);

test('a plugin that is disabled while code runs is gone for its next call', async () => {
  const chat = await start('disabled');
  await until(
    async () => (await installation.store.events.read(chat.id, 0)).some(({ type, data }) => type === 'note' || JSON.stringify(data).includes('remarked go')),
    'the code has begun',
  );
  await installation.longshore.plugins.enable('lab', false);
  expect(await chat.reply()).toBe('Done.');
  // A call that was taken just before is one that failed.
  const first = expect.stringMatching(/^(UnknownTool TOOL_NOT_FOUND|ToolError TOOL_FAILED)$/) as unknown;
  expect(await linesOf(chat)).toEqual([['once', first, 'UnknownTool TOOL_NOT_FOUND']]);
  await chat.close();
}, 180_000);
