import { once } from 'node:events';
import { createServer, type OutgoingHttpHeaders } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { FastifyReply } from 'fastify';
import { sendFile } from '../../../src/api/sandbox/send-file.ts';
import type { Json } from '../../../src/contracts/json.ts';
import type { HostClient, Target } from '../../../src/hosts/client/host-client.ts';
import type { Message } from '../../../src/hosts/channel/messages.ts';

/** A host with one file, which `between` may change before each of its answers. */
function hostWith(file: { text: string; changedAt: number }, between: (call: string) => void = () => undefined): HostClient {
  return {
    async open(_target, call) {
      between(call.do);
      const info = {
        path: '/home/user/file',
        type: 'file',
        size: file.text.length,
        changedAt: new Date(file.changedAt).toISOString(),
        modifiedAt: new Date(file.changedAt).toISOString(),
      };
      const { offset = 0, maxBytes = file.text.length } = call as { offset?: number; maxBytes?: number };
      const text = file.text.slice(offset, offset + maxBytes);
      async function* messages(): AsyncGenerator<Message> {
        yield { kind: 'json', value: info as Json };
        if (call.do === 'files.read' && text !== '') yield { kind: 'data', stream: 'stdout', bytes: Buffer.from(text) };
      }
      return {
        sender: { json: async () => undefined, data: async () => undefined, end: () => undefined } as never,
        messages: messages(),
        abort: () => undefined,
      };
    },
  };
}

/** The answer to a request of the file, as bytes; `refused` is what was thrown before it began. */
async function answerOf(hosts: HostClient, headers: { range?: string; 'if-range'?: string } = {}) {
  let refused: unknown;
  const server = createServer((_request, raw) => {
    const set: OutgoingHttpHeaders = {};
    const reply = {
      raw,
      request: { id: 'request' },
      log: { info: () => undefined },
      hijack: () => undefined,
      getHeaders: () => set,
      header: (name: string, value: string) => (set[name] = value),
    } as unknown as FastifyReply;
    sendFile(hosts, { target: {} as Target, path: 'file', headers, signal: new AbortController().signal }, reply).catch((error: unknown) => {
      refused = error;
      raw.destroy();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let bytes = '';
  socket.on('data', (chunk: Buffer) => (bytes += chunk.toString()));
  socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  await once(socket, 'close');
  await new Promise((resolve) => server.close(resolve));
  const [head = '', body = ''] = bytes.split(/\r\n\r\n(.*)/s);
  return { head, body, refused };
}
const etagOf = (head: string) => /^etag: (.*?)\r?$/m.exec(head)?.[1] ?? '';

test('a file that is replaced between the measure and the read of a part is sent as a whole, not in parts of both', async () => {
  const file = { text: 'old-old-old', changedAt: 1_000 };
  const { head } = await answerOf(hostWith(file));
  const replaced = hostWith(file, (call) => {
    if (call === 'files.read') Object.assign(file, { text: 'new-new-new', changedAt: 2_000 });
  });
  const resumed = await answerOf(replaced, { range: 'bytes=4-', 'if-range': etagOf(head) });
  expect(resumed.head).toMatch(/^HTTP\/1.1 200 /);
  expect(resumed.body).toBe('new-new-new');
});

test('a part of a file that changes all the time is refused', async () => {
  const file = { text: 'abcdef', changedAt: 1_000 };
  const { refused, body } = await answerOf(
    hostWith(file, () => (file.changedAt += 1)),
    { range: 'bytes=2-3' },
  );
  expect(refused).toMatchObject({ code: 'FILE_CHANGED' });
  expect(body).toBe('');
});

test('a part of a file that says that it is empty is all of it', async () => {
  const { head, refused } = await answerOf(hostWith({ text: '', changedAt: 1_000 }), { range: 'bytes=0-10' });
  expect(refused).toBeUndefined();
  expect(head).toMatch(/^HTTP\/1.1 200 /);
});
