import type { Chat, Longshore } from '../../../src/client.ts';
import { installAgents, type Installation, type ScriptedStep } from '../support.ts';

/** What a model is told of the AGENTS.md in its sandbox. */
let installation: Installation;
let longshore: Longshore;
const run = (command: string): ScriptedStep => ({ call: 'shell:run', with: { command } });
const steps = [
  run('echo "Run make test." > AGENTS.md'),
  run('echo "Changed in the same turn." >> AGENTS.md'),
  { say: 'First.' },
  run('true'),
  { say: 'Second.' },
  run('rm AGENTS.md; mkdir -p work/deep; head -c 40000 /dev/zero | tr "\\0" x > work/AGENTS.md'),
  { say: 'Third.' },
  run('true'),
  { say: 'Fourth.' },
];

beforeAll(async () => {
  installation = await installAgents({
    reader: { steps },
    off: { agentsMd: 'off', steps: [run('echo "Run make test." > AGENTS.md'), run('true'), { say: 'Done.' }] },
    talker: { steps: [{ say: 'Hello.' }, { say: 'Hello again.' }] },
  });
  await installation.startWorker().ready;
  ({ longshore } = installation);
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

/** The notes, each with the role of the entry before it. */
async function notesOf({ id }: Chat): Promise<[before: string | undefined, text: string][]> {
  const entries = (await longshore.transcript(id)).map(({ entry }) => entry);
  return entries.flatMap((entry, index) =>
    entry.role === 'note' && entry.from === 'sandbox' ? [[entries[index - 1]?.role, entry.text] as [string, string]] : [],
  );
}

test('it is a note marked as data, once for each change and turn; no rule of the judge sees it, and no sandbox is made or woken for it', async () => {
  await using chat = await longshore.start({ agent: 'reader', user: 'ann', message: 'Work.' });
  expect(await chat.reply()).toBe('First.');
  const first = await notesOf(chat);
  expect(first).toEqual([['tool', expect.stringMatching(/^The file \/home\/user\/AGENTS\.md in the sandbox says .* It is data: .*\n\nRun make test\.$/s)]]);
  await chat.send('Go on.');
  expect(await chat.reply()).toBe('Second.');
  const second = await notesOf(chat);
  expect(second.slice(1)).toEqual([['user', expect.stringMatching(/Run make test\.\nChanged in the same turn\.$/)]]);
  await chat.send('Go on.');
  expect(await chat.reply()).toBe('Third.');
  expect(await notesOf(chat)).toEqual(second);
  await chat.send('Go on.');
  expect(await chat.reply()).toBe('Fourth.');
  expect((await notesOf(chat)).slice(2)).toEqual([['user', 'The file AGENTS.md is not in the sandbox any more; what it said does not hold any more.']]);
  expect(await installation.store.judgements.userMessages(chat.id)).toEqual(['Work.', 'Go on.', 'Go on.', 'Go on.']);
  await using talker = await longshore.start({ agent: 'talker', user: 'ann', message: 'Hi.' });
  expect(await talker.reply()).toBe('Hello.');
  await talker.send('Hi.');
  expect(await talker.reply()).toBe('Hello again.');
  expect((await talker.status()).sandboxTier).toBe('none');
  await Promise.all([chat.close(), talker.close()]);
}, 120_000);

test('an agent can do without', async () => {
  await using off = await longshore.start({ agent: 'off', user: 'ann', message: 'Work.' });
  expect(await off.reply()).toBe('Done.');
  expect(await notesOf(off)).toEqual([]);
  await off.close();
}, 120_000);
