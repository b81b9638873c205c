import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAgents } from '../../../src/definitions/agents/load-agents.ts';
import { readAgentFiles } from '../../../src/definitions/edit/agent-files.ts';

const MODEL = 'model: scripted/x.yaml\n';
let root: string;
let agents: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'longshore-odd-'));
  agents = join(root, 'agents');
  await mkdir(agents);
  await mkdir(join(root, 'templates'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

test.each<[string, Buffer]>([
  ['Latin-1', Buffer.from(`${MODEL}instructions: Grüße\n`, 'latin1')],
  ['UTF-16', Buffer.from(`\uFEFF${MODEL}`, 'utf16le')],
])('a file in %s is refused: its letters would be lost', async (_, content) => {
  await writeFile(join(agents, 'greeter.yaml'), content);
  const message = 'greeter.yaml: (the whole file): it is no text in UTF-8. Store it as text in UTF-8';
  await expect(loadAgents(agents)).rejects.toMatchObject({ code: 'AGENT_INVALID', message });
  // What writes such files again does not take part in it.
  expect(await readAgentFiles(agents)).toEqual([]);
});

test('a template that is no text is refused by its name, too', async () => {
  await writeFile(join(root, 'templates', 'tools.yaml'), Buffer.from([0xff, 0xfe]));
  await expect(loadAgents(agents)).rejects.toMatchObject({ code: 'TEMPLATE_INVALID', message: expect.stringContaining('tools.yaml') });
});

test.each<[string, (path: string) => unknown, RegExp]>([
  ['a link that leads nowhere', (path) => symlink('/no/such/file', path), /^odd\.yaml: .*it cannot be read \(no such file or directory\)/],
  ['a directory', (path) => mkdir(path), /^odd\.yaml: .*it is no regular file\. Remove it/],
  ['a pipe', (path) => execFileSync('mkfifo', [path]), /^odd\.yaml: .*it is no regular file\. Remove it/],
])('%s is refused by its name, and passed over by what changes agents', async (_, make, message) => {
  await make(join(agents, 'odd.yaml'));
  await writeFile(join(agents, 'whole.yaml'), MODEL);
  await expect(loadAgents(agents)).rejects.toMatchObject({ code: 'AGENT_INVALID', message: expect.stringMatching(message) });
  expect((await readAgentFiles(agents)).map(({ id }) => id)).toEqual(['whole']);
});

test('files of editors and file systems, with a dot before their names, are no agents and no templates', async () => {
  await writeFile(join(agents, 'whole.yaml'), MODEL);
  for (const directory of [agents, join(root, 'templates')]) {
    await symlink('me@host.123:456', join(directory, '.#whole.yaml'));
    await writeFile(join(directory, '._whole.yaml'), Buffer.from([0, 5, 22, 7, 0xff]));
  }
  expect([...(await loadAgents(agents)).keys()]).toEqual(['whole']);
  expect(await readAgentFiles(agents)).toHaveLength(1);
});

test.each([
  ['agents/plain.mjs', `export default { id: 'plain', model: 'scripted/x', tools: ['shell:*'], budget: { turns: 5 } };`, 'defineAgent'],
  ['templates/plain.mjs', `export default { name: 'plain', options: { memoryMb: 1 }, pool: 0 };`, 'defineTemplate'],
])('an object that nothing has checked is no definition: %s', async (path, text, maker) => {
  await writeFile(join(root, path), text);
  await expect(loadAgents(agents)).rejects.toThrow(
    `plain.mjs: (the whole file): has no ${maker === 'defineAgent' ? 'agent' : 'template'} as its default export`,
  );
});

test.each([
  ['mcp: { x: { comand: npx, where: host } }', 'mcp.x.comand: this key is not known. Did you mean "command"?'],
  ['mcp: { x: { command: npx } }', 'mcp.x.where: is missing. "where": has to be host or sandbox'],
  ['mcp: { x: { url: "https://x.example", timeout: soon } }', 'mcp.x.timeout: "soon" is not usable. "timeout": is not a duration'],
  [
    'sandbox: { egress: [{ host: a.example, prots: [1] }] }',
    'sandbox.egress[0].prots: this key is not known. Did you mean "ports"? Known here: host, ports, headers',
  ],
  ['modelOptions: { temperature: .inf }', 'modelOptions.temperature: Infinity is not usable. "temperature": has to be a text or a number or true or false'],
  ['budget: { turns: .nan }', 'budget.turns: NaN is not usable.'],
])('an error names what is wrong, and what it has to be: %s', async (written, message) => {
  await writeFile(join(agents, 'a.yaml'), `${MODEL}${written}\n`);
  await expect(loadAgents(agents)).rejects.toThrow(`a.yaml:2: ${message}`);
});
