import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../../../sandbox/lifecycle/support.ts';
import { builtModule } from '../../../support/built-programs.ts';

/** Starts a program that ignores signals, has its group watched, prints its id, and runs until it is killed. */
const program = async () => `
  import { spawn } from 'node:child_process';
  import { endWithWorker } from '${await builtModule('plugins/dialects/mcp/connection/end-with-worker.ts')}';
  const program = spawn('sh', ['-c', 'trap "" TERM; while :; do sleep 1000; done'], { detached: true, stdio: 'pipe' });
  endWithWorker(program.pid);
  console.log(program.pid);
  setInterval(() => undefined, 1000);`;

test('a program that does not end with its stdin is ended when its worker was killed', async () => {
  const worker = spawn(process.execPath, ['--input-type=module', '-e', await program()], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = (await once(worker.stdout, 'data')) as [Buffer];
  const group = Number(said.toString());
  const isAlive = () => {
    try {
      return process.kill(-group, 0);
    } catch {
      return false;
    }
  };
  expect(isAlive()).toBe(true);
  worker.kill('SIGKILL');
  await until(async () => !isAlive(), 'nothing is left of its group');
});
