import { Duplex, PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Bridge } from '../../../../src/sandbox/engine/docker/bridge.ts';

const frame = (channel: number, payload: Buffer) => {
  const header = Buffer.alloc(8);
  header.writeUInt8(channel, 0);
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
};
const bridged = () => {
  const [fromEngine, toEngine] = [new PassThrough(), new PassThrough()];
  return { bridge: new Bridge(Duplex.from({ readable: fromEngine, writable: toEngine })), fromEngine, toEngine };
};

describe('the bridge stream', () => {
  test('reads stdout byte by byte as it was written, however the engine cuts it', async () => {
    const payloads = Array.from({ length: 50 }, (_, index) => Buffer.alloc(index * 37, index));
    const bytes = Buffer.concat(payloads.map((payload) => frame(1, payload)));
    for (const size of [1, 7, 8, 9, 4096]) {
      const { bridge, fromEngine } = bridged();
      const read = buffer(bridge);
      for (let at = 0; at < bytes.length; at += size) fromEngine.write(bytes.subarray(at, at + size));
      fromEngine.end();
      expect((await read).equals(Buffer.concat(payloads))).toBe(true);
    }
  });

  test('ends with what the bridge process said on stderr', async () => {
    const { bridge, fromEngine } = bridged();
    fromEngine.end(Buffer.concat([frame(1, Buffer.from([0])), frame(2, Buffer.from('no such ')), frame(2, Buffer.from('socket\n'))]));
    await expect(buffer(bridge)).rejects.toThrow('no such socket');
  });

  test('takes what the engine says in place of a process that it could not start for an error', async () => {
    const { bridge, fromEngine } = bridged();
    fromEngine.end(frame(1, Buffer.from('cannot exec in a stopped state\r\n')));
    await expect(buffer(bridge)).rejects.toThrow('cannot exec in a stopped state');
  });

  test('writes go out unframed', async () => {
    const { bridge, toEngine } = bridged();
    bridge.end('hello');
    expect((await buffer(toEngine)).toString()).toBe('hello');
    bridge.destroy();
  });

  test('writes that were held together go out in order, and are done when all of them are', async () => {
    const { bridge, toEngine } = bridged();
    const done: string[] = [];
    bridge.cork();
    for (const text of ['one ', 'two ', 'three']) bridge.write(text, () => done.push(text));
    bridge.uncork();
    bridge.end();
    expect((await buffer(toEngine)).toString()).toBe('one two three');
    expect(done).toEqual(['one ', 'two ', 'three']);
    bridge.destroy();
  });

  test('a reader that stops reading stops the engine', async () => {
    const { bridge, fromEngine } = bridged();
    const chunk = frame(1, Buffer.alloc(64 * 1024));
    let accepted = 0;
    while (accepted < 1000 && fromEngine.write(chunk)) {
      accepted += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(accepted).toBeLessThan(100);
    bridge.destroy();
  });
});
