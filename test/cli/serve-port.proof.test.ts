import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { createTestDatabase } from '../support/databases.ts';
import { builtCommandLine } from '../support/built-programs.ts';

test('serve ends with what to do when its port is taken', async () => {
  await using database = await createTestDatabase();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
  const child = spawn(process.execPath, [await builtCommandLine(), 'serve', '--address', address], { env: { ...process.env, DATABASE_URL: database.url } });
  try {
    expect(await once(child, 'exit')).toEqual([2, null]);
  } finally {
    child.kill('SIGKILL');
    taken.close();
  }
}, 60_000);
