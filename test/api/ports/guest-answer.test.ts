import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { answerTo, requestOver } from '../../../src/api/ports/guest-answer.ts';

const OF = { port: 8000, sandboxId: 'sbx_guest' };

/** Asks a server that answers with this status line. */
async function askOne(statusLine: string) {
  const server = createServer((socket) => socket.once('data', () => socket.end(`${statusLine}\r\ncontent-length: 2\r\n\r\nhi`))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connection = connect((server.address() as AddressInfo).port, '127.0.0.1');
  try {
    const sent = requestOver({ connection, method: 'GET', path: '/', headers: {} });
    sent.end();
    const { answer } = await answerTo(sent, OF);
    return answer.statusCode;
  } finally {
    connection.destroy();
    server.close();
  }
}

test.each(['000', '042', '099'])('the status %s, which no answer can be given with, is a failure of the port', async (status) => {
  await expect(askOne(`HTTP/1.1 ${status} Odd`)).rejects.toMatchObject({ code: 'PORT_FAILED' });
});

test.each([200, 404, 599, 999])('the status %s is passed on', async (status) => {
  expect(await askOne(`HTTP/1.1 ${status} Usual`)).toBe(status);
});

test('a guest that answers before it has the whole request may go on with its answer for as long as it likes', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nh'))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connection = connect((server.address() as AddressInfo).port, '127.0.0.1');
  import.meta.jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
  try {
    const sent = requestOver({ connection, method: 'POST', path: '/', headers: { 'content-length': 2 } });
    sent.write('a');
    const { answer } = await answerTo(sent, OF);
    const finished = once(sent, 'finish');
    sent.end('b');
    await finished;
    import.meta.jest.advanceTimersByTime(3_600_000);
    expect([sent.destroyed, connection.destroyed, answer.destroyed]).toEqual([false, false, false]);
  } finally {
    import.meta.jest.useRealTimers();
    connection.destroy();
    server.close();
  }
});
