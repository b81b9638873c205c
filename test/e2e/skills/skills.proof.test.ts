import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Chat, Longshore } from '../../../src/client.ts';
import { installAgents, type Installation, type ScriptedAgent, type ScriptedStep, type WorkerProcess } from '../support.ts';

/** Skills from the agent's file to the model and the sandbox. */
let installation: Installation;
let longshore: Longshore;
let skills: string;
let worker: WorkerProcess;
const PLACE = '/home/user/.longshore-skills/tide-tables';
const read = (more: object = {}): ScriptedStep => ({ call: 'skills:read', with: { skill: 'tide-tables', ...more } });
const run = (command: string, expect: object = { exitCode: 0 }): ScriptedStep => ({ call: 'shell:run', with: { command }, expect }) as ScriptedStep;

beforeAll(async () => {
  const file = async (path: string) => parse(await readFile(`examples/agents/${path}`, 'utf8')) as Record<string, unknown>;
  const { tools, approval, skills: places } = await file('harbourmaster.yaml');
  const { steps } = (await file('scripts/harbourmaster.yaml')) as { steps: ScriptedStep[] };
  const harbourmaster: ScriptedAgent = { tools, approval, skills: places, steps };
  const tampering = [
    run(`! echo x 2>/dev/null >> ${PLACE}/scripts/passage.py`),
    run(`! touch ${PLACE}/new 2>/dev/null`),
    run(`cd ${PLACE} && chmod -R u+w . && echo 'evil()' > scripts/passage.py && ln -s /etc/passwd extra`),
    read(),
    run(`cd ${PLACE} && ! grep -q evil scripts/passage.py && test ! -e extra && stat -c %a scripts scripts/passage.py | tr '\\n' ' '`, {
      exitCode: 0,
      stdout: '/555 444/',
    }),
    run(`rm -rf ${PLACE}; chmod u+w -R ${PLACE}; rm -rf ${PLACE}; ln -s /tmp ${PLACE}`, {}),
    read(),
    run(`mkdir -m 0 -p /tmp/x && cd ${PLACE} && chmod u+w . && mkdir -p d/e && chmod 0 d && cd .. && chmod 0 tide-tables`),
    read(),
    run(`test ! -L ${PLACE} && test -e ${PLACE}/scripts/passage.py`),
  ];
  installation = await installAgents({
    harbourmaster,
    guest: { skills: places, steps: [read(), ...tampering, { say: 'Nothing has changed.' }] },
    later: { skills: places, tools: [], steps: [read(), { say: 'First.' }, read(), read({ file: 'scripts/passage.py' }), { say: 'Second.' }] },
    odd: {
      skills: places,
      tools: [],
      steps: [
        ...[{ skill: 'no-such' }, { skill: '../tide-tables' }, { file: '../SKILL.md' }, { file: '/etc/passwd' }, { skill: 7 }, { offset: -1 }].map((more) =>
          read(more),
        ),
        read({ file: 'long.txt' }),
        read({ file: 'long.txt', offset: 28_000 }),
        read({ offset: 1_000_000 }),
        { say: 'I see.' },
      ],
    },
    without: { steps: [read(), { say: 'I have none.' }] },
  });
  skills = join(installation.environment['LONGSHORE_AGENTS'] ?? '', 'skills');
  await cp('examples/agents/skills', skills, { recursive: true });
  await writeFile(join(skills, 'tide-tables/long.txt'), 'é'.repeat(20_000));
  worker = installation.startWorker();
  await worker.ready;
  ({ longshore } = installation);
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

const start = (agent: string) => longshore.start({ agent, user: 'ann', message: 'When can I pass the bar?' });

async function resultsOf({ id }: Chat): Promise<{ text: string; isError: boolean }[]> {
  const entries = (await longshore.transcript(id)).flatMap(({ entry }) => (entry.role === 'tool' ? [entry] : []));
  return entries.map(({ content, isError }) => ({ isError, text: content.map((part) => (part.type === 'text' ? part.text : '')).join('') }));
}

test('the example reads its skill and runs the program that it brings', async () => {
  await using chat = await start('harbourmaster');
  expect(await chat.reply()).toBe('You can pass the bar at 03:00.');
  const [first] = await resultsOf(chat);
  expect(first?.text).toContain(`They are in ${PLACE} in the sandbox, read-only`);
  expect(first?.text).toContain('- scripts/passage.py (');
  expect(first?.text).toContain('# Tide tables');
  await chat.close();
}, 120_000);

test('the guest cannot change a skill: its copy is read-only, and the next reading puts it right', async () => {
  await using chat = await start('guest');
  expect(await chat.reply()).toBe('Nothing has changed.');
  await chat.close();
}, 120_000);

test('arguments that name nothing are errors for the model, long files come in pieces, and no sandbox is opened', async () => {
  await using chat = await start('odd');
  expect(await chat.reply()).toBe('I see.');
  const results = await resultsOf(chat);
  expect(results.map(({ isError }) => isError)).toEqual([true, true, true, true, true, true, false, false, false]);
  expect(results[0]?.text).toBe('There is no skill "no-such". Known are: tide-tables.');
  expect(results[2]?.text).toContain('The skill tide-tables has no file "../SKILL.md". It has: - long.txt');
  expect(results[6]?.text).toContain('[It goes on: {"skill":"tide-tables","file":"long.txt","offset":14000}]');
  expect(results[7]?.text).toBe('(nothing)');
  expect((await chat.status()).sandboxTier).toBe('none');
  await using without = await start('without');
  expect(await without.reply()).toBe('I have none.');
  expect((await resultsOf(without))[0]).toMatchObject({ isError: true });
  await Promise.all([chat.close(), without.close()]);
}, 120_000);

test('a conversation keeps the skills that it began with, also with a worker that has others', async () => {
  await using chat = await start('later');
  expect(await chat.reply()).toBe('First.');
  const pinned = await installation.store.skills.pinned(chat.id);
  await worker.kill();
  const text = await readFile(join(skills, 'tide-tables/SKILL.md'), 'utf8');
  await writeFile(join(skills, 'tide-tables/SKILL.md'), text.replace('# Tide tables', '# Other tables').replace('Computes', 'Guesses'));
  await rm(join(skills, 'tide-tables/scripts'), { recursive: true });
  await mkdir(join(skills, 'another'));
  await writeFile(join(skills, 'another/SKILL.md'), '---\nname: another\ndescription: Another one.\n---\n');
  await installation.startWorker().ready;
  await chat.send('And now?');
  expect(await chat.reply()).toBe('Second.');
  const [first, second, file] = await resultsOf(chat);
  expect(first?.text).toContain('# Tide tables');
  expect(second).toEqual(first);
  expect(file?.text).toContain('Prints the hours');
  expect(await installation.store.skills.pinned(chat.id)).toEqual(pinned);
  await using fresh = await start('later');
  expect(await fresh.reply()).toBe('First.');
  expect((await installation.store.skills.pinned(fresh.id))?.map(({ name }) => name)).toEqual(['another', 'tide-tables']);
  expect((await resultsOf(fresh))[0]?.text).toContain('# Other tables');
  await Promise.all([chat.close(), fresh.close()]);
}, 120_000);
