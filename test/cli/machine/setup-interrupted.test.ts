import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { until } from '../../e2e/support.ts';

const MAIN = join(import.meta.dirname, '../../../src/cli/main.ts');

test('a build of setup that is interrupted leaves nothing in the temporary directory', async () => {
  const home = await mkdtemp(join(tmpdir(), 'longshore-setup-'));
  try {
    for (const name of ['path', 'temporary']) await mkdir(join(home, name));
    const go = `#!/bin/sh\n[ "$1" = env ] && { echo go1.26.0; exit; }\nmkdir "$GOCACHE"; touch "${home}/began"; exec sleep 600\n`;
    await writeFile(join(home, 'path/go'), go);
    await chmod(join(home, 'path/go'), 0o755);
    const env = { PATH: `${join(home, 'path')}${delimiter}${process.env['PATH'] ?? ''}`, TMPDIR: join(home, 'temporary'), LONGSHORE_HOME: join(home, 'home') };
    const child = spawn(process.execPath, ['--import', 'tsx', MAIN, 'setup', '--gvisor'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
    const ended = new Promise((resolve) => child.once('close', resolve));
    await until(async () => existsSync(join(home, 'began')), 'the build has begun');
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(said).toContain('Interrupted; what was made so far is removed');
    expect((await readdir(join(home, 'temporary'))).filter((name) => name.startsWith('longshore-'))).toEqual([]);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
