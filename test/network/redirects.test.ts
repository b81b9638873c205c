import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGuardedFetch } from '../../src/network/guarded-fetch.ts';

/** What the server was sent: the method, the body, and whether there were headers of a body without one. */
const sent: string[] = [];
let status: number;
let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const { 'content-type': type, 'content-language': language } = request.headers;
      const rest = body === '' && (type ?? language) !== undefined ? 'headers of a body' : body;
      sent.push(`${request.method} ${rest}`.trim());
      response.writeHead(sent.length === 1 ? status : 200, { location: '/next' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
beforeEach(() => void (sent.length = 0));
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe.each([
  ['POST', 301, 'GET'],
  ['POST', 302, 'GET'],
  ['POST', 307, 'POST hello'],
  ['PUT', 301, 'PUT hello'],
  ['PATCH', 302, 'PATCH hello'],
  ['DELETE', 302, 'DELETE hello'],
  ['PUT', 308, 'PUT hello'],
  ['PUT', 303, 'GET'],
  ['HEAD', 303, 'HEAD'],
])('%s that is answered with %i becomes %s', (method, answered, next) => {
  const init = method === 'HEAD' ? { method } : { method, body: 'hello', headers: { 'content-language': 'en' } };
  beforeEach(() => void (status = answered));

  test('with the guarded fetch', async () => {
    await using guarded = createGuardedFetch({ hosts: ['good.example'], resolve: async () => ['127.0.0.1'], allowAddresses: ['127.0.0.1'] });
    expect((await guarded.fetch(`http://good.example:${port}/`, init)).status).toBe(200);
    expect(sent[1]).toBe(next);
  });

  test('with that of Node.js', async () => {
    expect((await fetch(`http://127.0.0.1:${port}/`, init)).status).toBe(200);
    expect(sent[1]).toBe(next);
  });
});
