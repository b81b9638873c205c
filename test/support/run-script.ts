import { spawn } from 'node:child_process';

const ROOT = new URL('../../', import.meta.url).pathname;

/** Runs a script of this repository to its end; what it said is one line. */
export async function runScript(...args: string[]): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, said: said.replaceAll(/\s+/g, ' ') };
}
