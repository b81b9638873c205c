import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { sendArchive } from '../../../src/api/sandbox/export-route.ts';

test('an archive is not read on for a reader that left while it was opened', async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  socket.destroy();
  await once(response, 'close');
  let read = 0;
  const archive = new Readable({
    read() {
      read += 1;
      this.push(read < 1_000 ? Buffer.alloc(65_536) : null);
    },
  });
  await sendArchive(archive, response, {});
  expect(archive.destroyed).toBe(true);
  expect(read).toBeLessThan(10);
  await new Promise((resolve) => server.close(resolve));
});
