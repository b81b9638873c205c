import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageLayer } from '../../../../src/plugins/dialects/shared/python/layers.ts';

let directory: string;
const path = process.env['PATH'] ?? '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-layers-'));
  await mkdir(join(directory, 'bin'));
  await mkdir(join(directory, 'layers'));
  process.env['PATH'] = `${join(directory, 'bin')}:${path}`;
});
afterEach(async () => {
  process.env['PATH'] = path;
  await rm(directory, { recursive: true });
});

/** A Python whose pip fails at requirements as old ones do, unless a newer pip is given; and which has that newer pip, or cannot fetch it. */
async function python(hasIndex: boolean): Promise<void> {
  const fetched = hasIndex ? 'touch "$9/pip-99.whl"; exit 0' : 'exit 1';
  const program = `#!/bin/sh
case "$2" in pip) ${fetched};; esac
[ -n "$PYTHONPATH" ] && { touch "$3/installed"; exit 0; }
echo 'ERROR: Exception:' >&2; echo 'an error of pip' >&2; exit 2\n`;
  await writeFile(join(directory, 'bin/python3'), program);
  await chmod(join(directory, 'bin/python3'), 0o755);
}

test('a newer pip that could not be fetched is fetched the next time', async () => {
  const facts = { version: '3.12', machine: 'x86_64', libc: 'glibc-2.36' };
  const install = () => packageLayer('words', ['left>=1'], facts, join(directory, 'layers'));
  await python(false);
  await expect(install()).rejects.toThrow('cannot be installed on the worker: an error of pip');
  // As versions before left it.
  await mkdir(join(directory, 'layers/pip'));
  await python(true);
  expect(await readdir((await install()).path)).toEqual(['installed']);
});
