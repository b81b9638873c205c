import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = new URL('image-program.ts', import.meta.url).pathname;

/** A `docker` that does what a script says, and notes how it was called, for a program that works with images. */
export async function fakeEngine(script: string) {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-fake-engine-'));
  const env = { ...process.env, PATH: `${directory}:${process.env['PATH']}`, LONGSHORE_HOME: directory };
  await writeFile(join(directory, 'calls'), '');
  await writeFile(join(directory, 'docker'), `#!/bin/sh\ncd ${directory}\necho "$*" >> calls\n${script}\n`, { mode: 0o755 });
  return {
    directory,
    async run(...args: string[]): Promise<{ result?: unknown; failed?: string }> {
      const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
      await new Promise((resolve) => child.once('close', resolve));
      return JSON.parse(said) as { result?: unknown; failed?: string };
    },
    calls: async () => (await readFile(join(directory, 'calls'), 'utf8')).trim().split('\n'),
    async [Symbol.asyncDispose]() {
      await rm(directory, { recursive: true });
    },
  };
}
