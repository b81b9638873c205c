import { readFileSync } from 'node:fs';
import { LocalSupervisor } from '../local-supervisor.ts';

const LIMIT = Number(readFileSync('/proc/sys/fs/inotify/max_user_instances', 'utf8'));

// A host may permit more than one program can take.
(LIMIT < 100_000 ? test : test.skip)('when all watches that the kernel permits the user are taken, the error says so and names the limit', async () => {
  await using supervisor = await LocalSupervisor.start();
  const take = `import ctypes, time
libc = ctypes.CDLL(None)
while libc.inotify_init() >= 0: pass
print('taken', flush=True)
time.sleep(1000)`;
  await supervisor.handle.writeFile('take.py', take);
  const taken = new AbortController();
  await new Promise<void>((resolve, reject) => {
    void supervisor.handle
      .run(`ulimit -n ${LIMIT + 100} && exec python3 take.py`, { timeoutMs: 0, execId: 'takes', onStdout: () => resolve(), signal: taken.signal })
      .then(() => reject(new Error('it ended')), reject);
  });
  const watching = async () => {
    for await (const event of await supervisor.handle.watch('.')) return event;
    return undefined;
  };
  await expect(watching()).rejects.toMatchObject({ code: 'FILE_FAILED', message: expect.stringContaining('fs.inotify.max_user_instances') as string });
  taken.abort();
});
