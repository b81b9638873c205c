import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAgentFiles, writeAgentFiles, type AgentFile } from '../../../src/definitions/edit/agent-files.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-agent-files-'));
});
afterEach(async () => rm(directory, { recursive: true }));

const fileAt = async (path: string): Promise<AgentFile> => ({ id: 'a', path, text: await readFile(path, 'utf8'), value: {} });

test('files in YAML are read with their ids; others, and those that are no YAML, are left out', async () => {
  for (const [name, text] of Object.entries({ 'a.yaml': 'model: x', 'b.yml': 'id: c', 'd.yaml': 'no: [yaml', 'e.yaml': 'text', 'f.mjs': '' }))
    await writeFile(join(directory, name), text);
  expect((await readAgentFiles(directory)).map(({ id, value }) => [id, value])).toEqual([
    ['a', { model: 'x' }],
    ['c', { id: 'c' }],
  ]);
});

test('a file keeps its mode, and a link to it stays a link', async () => {
  const [real, link] = [join(directory, 'real.yaml'), join(directory, 'a.yaml')];
  await writeFile(real, 'old');
  await chmod(real, 0o640);
  await symlink(real, link);
  await writeAgentFiles([{ file: await fileAt(link), text: 'new' }]);
  expect([await readFile(real, 'utf8'), (await stat(real)).mode & 0o777]).toEqual(['new', 0o640]);
});

test('when one file cannot be written, those before it are as they were', async () => {
  const path = join(directory, 'a.yaml');
  await writeFile(path, 'old');
  // No file can be made there.
  const fixed = await fileAt('/proc/version');
  await expect(
    writeAgentFiles([
      { file: await fileAt(path), text: 'new' },
      { file: fixed, text: 'new' },
    ]),
  ).rejects.toThrow('/proc');
  expect(await readFile(path, 'utf8')).toBe('old');
});

test('of two changes at the same time of what both have read, one is refused', async () => {
  const path = join(directory, 'a.yaml');
  await writeFile(path, 'old');
  const file = await fileAt(path);
  const outcomes = await Promise.allSettled(['one', 'two'].map((text) => writeAgentFiles([{ file, text }])));
  const written = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [['one', 'two'][index]] : []));
  expect(written).toEqual([await readFile(path, 'utf8')]);
  expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'INVALID_ARGUMENT', message: `${path}: it was changed by another program meanwhile. Try again` },
  });
});

test('a file that is gone is refused', async () => {
  const path = join(directory, 'a.yaml');
  await writeFile(path, 'old');
  const file = await fileAt(path);
  await rm(path);
  await expect(writeAgentFiles([{ file, text: 'new' }])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});
