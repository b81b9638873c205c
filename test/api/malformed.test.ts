import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { serveScript, type ServedInstallation } from './support.ts';

let served: ServedInstallation;
beforeAll(async () => {
  served = await serveScript([{ say: 'Ahoy.' }]);
}, 180_000);
afterAll(() => served[Symbol.asyncDispose](), 180_000);

test('what is no request is refused with a problem; behind an answer it only ends the connection', async () => {
  const { hostname, port } = new URL(served.service.url);
  const answersTo = async (...pieces: string[]): Promise<string> => {
    const socket = connect(Number(port), hostname);
    const [first = '', second] = pieces;
    socket.write(first);
    if (second !== undefined) {
      await once(socket, 'readable');
      socket.write(second);
    }
    return text(socket);
  };
  const refused = await answersTo('nonsense\r\n\r\n');
  expect(refused).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(refused).toContain('INVALID_ARGUMENT');
  const both = await answersTo('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n', 'nonsense\r\n\r\n');
  expect(both.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
});
