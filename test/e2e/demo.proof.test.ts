import { spawn } from 'node:child_process';

test('the demo kills a worker and freezes the sandbox in mid-command, and the command runs once', async () => {
  const root = new URL('../../', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--import', 'tsx', 'scripts/demo.ts'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  said = said.replaceAll(/\s+/g, ' ');
  // In one object, so that a failure shows the whole story.
  expect({ code, said }).toEqual({ code: 0, said: expect.stringMatching(/once killed with SIGKILL, once frozen in mid-command/) });
  expect(said).toContain('soak.py once');
  expect(said).toContain('All 16 tests pass');
  expect(said).toContain('no container and no volume is left behind');
}, 600_000);
