import { createServer } from 'node:net';
import { freePort, isListening } from '../../src/setup/ports.ts';

describe('ports', () => {
  test('a free port is in use only while a server listens on it', async () => {
    const port = await freePort();
    expect(await isListening(port)).toBe(false);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    expect(await isListening(port)).toBe(true);
    await new Promise((resolve) => server.close(resolve));
  });
});
