import { execFileSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAgents } from '../../../src/definitions/agents/load-agents.ts';
import { loadSkills } from '../../../src/definitions/skills/load-skills.ts';
import { readSkill } from '../../../src/definitions/skills/read-skill.ts';
import { MAX_SKILL_FILES, MAX_SKILLS } from '../../../src/contracts/skills/skill.ts';
import type { Agent } from '../../../src/contracts/agent.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-skills-'));
});
afterAll(() => rm(directory, { recursive: true }));

const HEADER = 'name: tides\ndescription: Says when the tide comes.';
const skillText = (header: string, body = 'Look at the moon.') => `---\n${header}\n---\n${body}\n`;

/** A directory `tides` with these files. */
async function skill(files: Record<string, string | Buffer>, name = 'tides'): Promise<string> {
  const place = join(await mkdtemp(join(directory, 'case-')), name);
  await mkdir(place);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(place, path, '..'), { recursive: true });
    await writeFile(join(place, path), content);
  }
  return place;
}

const problemOf = (reading: Promise<unknown>) =>
  reading.then(
    () => 'none',
    (error: Error & { code?: string }) => `${error.code}: ${error.message.replaceAll(/\/\S*case-\w+\//g, '').replaceAll(`${directory}/`, '')}`,
  );
const loaded = (skills: string[]) => loadSkills([{ id: 'a', skills } as unknown as Agent]).then((found) => found.get('a') ?? []);

test('a skill has a header, a text and files, and its hash depends on nothing else', async () => {
  const header = `${HEADER}\nlicense: MIT\ncompatibility: Needs python3\nmetadata: { author: harbour, version: 1.5 }\nallowed-tools: Bash(git:*) Read`;
  const place = await skill({ 'SKILL.md': skillText(header), 'scripts/a.sh': 'echo a', 'b.bin': Buffer.from([0, 255]), '.git/HEAD': 'ref' });
  await chmod(join(place, 'scripts/a.sh'), 0o755);
  const read = await readSkill(place);
  expect(read).toMatchObject({
    name: 'tides',
    description: 'Says when the tide comes.',
    body: 'Look at the moon.',
    license: 'MIT',
    compatibility: 'Needs python3',
    metadata: { author: 'harbour', version: '1.5' },
    allowedTools: 'Bash(git:*) Read',
    files: [
      { path: 'b.bin', bytes: 2, executable: false },
      { path: 'scripts/a.sh', bytes: 6, executable: true },
    ],
  });
  const copy = join(await mkdtemp(join(directory, 'case-')), 'tides');
  await cp(place, copy, { recursive: true });
  expect((await readSkill(copy)).digest).toBe(read.digest);
  for (const change of [
    () => writeFile(join(copy, 'c'), ''),
    () => writeFile(join(copy, 'SKILL.md'), skillText(HEADER)),
    () => chmod(join(copy, 'c'), 0o755),
  ]) {
    const before = (await readSkill(copy)).digest;
    await change();
    expect((await readSkill(copy)).digest).not.toBe(before);
  }
  const windows = await skill({ 'SKILL.md': '---\r\nname: tides\r\ndescription: a\r\n---\r\n' });
  expect(await readSkill(windows)).toMatchObject({ description: 'a', body: '', files: [] });
});

test.each([
  ['no header', 'Just text', 'SKILL.md: (the header): there is none'],
  ['a header without an end', `---\n${HEADER}`, 'SKILL.md: (the header): there is none'],
  ['an empty header', '---\n---\nx', 'SKILL.md: (the header): there is none'],
  ['no YAML', skillText('name: [a'), 'SKILL.md: (the header): is not YAML'],
  ['a list', skillText('- a'), 'SKILL.md: (the header): ["a"] is not usable'],
  ['no name', skillText('description: a'), 'SKILL.md: name: is missing'],
  ['a name in capitals', skillText('name: Tides\ndescription: a'), 'SKILL.md: name: "Tides" is not usable'],
  ['two hyphens', skillText('name: a--b\ndescription: a'), 'SKILL.md: name: "a--b" is not usable'],
  ['a long name', skillText(`name: ${'a'.repeat(65)}\ndescription: a`), '64 at most'],
  ['a path as a name', skillText('name: ../tides\ndescription: a'), 'SKILL.md: name: "../tides" is not usable'],
  ['another name than the directory', skillText('name: moon\ndescription: a'), 'SKILL.md: name: it is "moon", and the directory "tides"'],
  ['no description', skillText('name: tides'), 'SKILL.md: description: is missing'],
  ['an empty description', skillText('name: tides\ndescription: "  "'), 'SKILL.md: description: "  " is not usable'],
  ['a long description', skillText(`name: tides\ndescription: ${'a'.repeat(1025)}`), 'SKILL.md: description: '],
  ['a long compatibility', skillText(`${HEADER}\ncompatibility: ${'a'.repeat(501)}`), 'SKILL.md: compatibility: '],
  ['metadata that is a list', skillText(`${HEADER}\nmetadata: [a]`), 'SKILL.md: metadata: ["a"] is not usable'],
  ['an unknown key', skillText(`${HEADER}\nlicence: MIT`), 'SKILL.md: licence: this key is not known. Did you mean "license"?'],
  ['a binary file', Buffer.from([0x2d, 0x2d, 0x2d, 0xff, 0xfe]), 'SKILL.md: (the file): it is no text in UTF-8'],
  ['a NUL', skillText(HEADER, 'a\0b'), 'SKILL.md: (the file): a NUL character'],
  ['a huge file', skillText(HEADER, 'x'.repeat(70_000)), 'SKILL.md: (the file): it has 70'],
])('%s is refused, by file and field', async (_, content, problem) => {
  expect(await problemOf(readSkill(await skill({ 'SKILL.md': content })))).toContain(problem);
});

test('nothing outside of the directory is read: links, pipes and sockets are refused', async () => {
  const good = { 'SKILL.md': skillText(HEADER) };
  const [linked, directoryLinked, piped, socketed, self] = [
    await skill(good),
    await skill(good),
    await skill(good),
    await skill(good),
    await skill({ a: 'b' }),
  ];
  await symlink('/etc/hostname', join(linked, 'host'));
  await symlink('/etc', join(directoryLinked, 'etc'));
  execFileSync('mkfifo', [join(piped, 'pipe')]);
  await symlink('/etc/hostname', join(self, 'SKILL.md'));
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(socketed, 's'), resolve));
  const link = join(directory, 'tides-link');
  await symlink(linked, link);
  const problems = [linked, directoryLinked, piped, socketed, self, link, join(directory, 'missing'), join(linked, 'SKILL.md')].map((place) =>
    problemOf(readSkill(place)),
  );
  expect(await Promise.all(problems)).toEqual([
    'SKILL_INVALID: tides/host: (the file): it is a link. Put a copy in its place',
    'SKILL_INVALID: tides/etc: (the file): it is a link. Put a copy in its place',
    'SKILL_INVALID: tides/pipe: (the file): it is no regular file. Put a copy in its place',
    'SKILL_INVALID: tides/s: (the file): it is no regular file. Put a copy in its place',
    'SKILL_INVALID: tides/SKILL.md: (the file): it is a link. Put a copy in its place',
    'SKILL_INVALID: tides-link: (the directory): it is a link. Name the directory',
    'SKILL_INVALID: missing: (the directory): it cannot be read. Name a directory that exists',
    'SKILL_INVALID: tides/SKILL.md: (the directory): it is no directory. Name the directory',
  ]);
  await new Promise((resolve) => server.close(resolve));
});

test('too many files, too much of them, and names that nobody sees are refused', async () => {
  const good = { 'SKILL.md': skillText(HEADER) };
  const many = Object.fromEntries(Array.from({ length: MAX_SKILL_FILES }, (_, index) => [`f${index}`, '']));
  expect(await problemOf(readSkill(await skill({ ...good, ...many })))).toContain(`it has more than ${MAX_SKILL_FILES} files`);
  expect(await problemOf(readSkill(await skill({ ...good, big: Buffer.alloc(5 * 2 ** 20) })))).toContain('its files have more than 5242880 bytes');
  expect(await problemOf(readSkill(await skill({ ...good, 'a\u202Eb': '' })))).toContain('is not usable');
  expect(await problemOf(readSkill(await skill({ ...good, [`${'d/'.repeat(10)}f`]: '' })))).toContain('more than 8 levels deep');
  expect(await problemOf(readSkill(await skill({ other: 'x' })))).toContain('SKILL.md: (the file): there is none');
});

test('a pattern stands for the directories that fit it, each name once', async () => {
  const parent = await mkdtemp(join(directory, 'case-'));
  const make = async (name: string) =>
    cp(await skill({ 'SKILL.md': skillText(`name: ${name}\ndescription: a`) }, name), join(parent, name), { recursive: true });
  for (const name of ['b', 'a', 'c-1']) await make(name);
  await writeFile(join(parent, 'README.md'), 'No skill.');
  await mkdir(join(parent, '.hidden'));
  const names = async (...places: string[]) => (await loaded(places.map((place) => join(parent, place)))).map(({ name }) => name);
  expect(await names('*')).toEqual(['a', 'b', 'c-1']);
  expect(await names('c*', 'a')).toEqual(['a', 'c-1']);
  expect(await problemOf(names('*', 'a'))).toContain('name: there is another skill "a"');
  expect(await problemOf(names('x*'))).toContain('no directory fits');
  expect(await problemOf(names('*/a'))).toContain('a * may stand in its last part only');
  expect(await problemOf(names('missing/*'))).toContain('cannot be read');
  for (let index = 0; index < MAX_SKILLS; index += 1) await make(`many-${index}`);
  expect(await problemOf(names('*'))).toContain(`it has more than ${MAX_SKILLS} skills`);
  await symlink(directory, join(parent, 'z'));
  expect(await problemOf(names('z*'))).toContain('z: (the directory): it is a link');
});

test('an agent with a skill that is wrong cannot be loaded by workers; clients need no skills', async () => {
  const agents = await mkdtemp(join(directory, 'agents-'));
  await mkdir(join(agents, 'skills/tides'), { recursive: true });
  await writeFile(join(agents, 'a.yaml'), "id: a\nmodel: openai/x\nskills: ['./skills/*']\nplan: true\nagentsMd: on\n");
  await writeFile(join(agents, 'skills/tides/SKILL.md'), skillText('name: tides'));
  expect(await problemOf(loadAgents(agents))).toContain('SKILL.md: description: is missing');
  expect((await loadAgents(agents, undefined, 'leave')).get('a')).toMatchObject({ skills: [join(agents, 'skills/*')], plan: true });
  await writeFile(join(agents, 'skills/tides/SKILL.md'), skillText(HEADER));
  expect((await loadAgents(agents)).get('a')).not.toHaveProperty('agentsMd');
  for (const [line, problem] of [
    ['skills: ./skills/*', '"skills"'],
    ['skills: []', '"skills"'],
    ['skills: [7]', 'skills[0]'],
    ['plan: yes', '"plan"'],
    ['agentsMd: never', '"agentsMd"'],
  ] as const) {
    await writeFile(join(agents, 'a.yaml'), `id: a\nmodel: openai/x\n${line}\n`);
    expect(await problemOf(loadAgents(agents))).toContain(problem);
  }
});
