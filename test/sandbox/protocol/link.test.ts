import { Duplex } from 'node:stream';
import { unsent, type AnyCall } from '../../../src/sandbox/protocol/call.ts';
import { openLink } from '../../../src/sandbox/protocol/link.ts';

test('requests that are sent together, and the bytes that follow them at once, are one write', async () => {
  const writes: Buffer[][] = [];
  const stream = new Duplex({
    read: () => undefined,
    writev(chunks, done) {
      writes.push(chunks.map(({ chunk }) => chunk as Buffer));
      done();
    },
  });
  const link = openLink({ stream, sandboxId: 'sbx_1', onEnd: () => undefined });
  const failed: unknown[] = [];
  const call = { operation: 'answer', fields: () => ({ execId: 'call_1-1', number: 1, size: 2 }), upload: Buffer.from('{}'), isUploadAhead: true } as const;
  const send = async (one: AnyCall) => link.send({ ...unsent(one), finish: () => undefined, fail: (error) => failed.push(error) }, true);
  const info = { operation: 'info', fields: () => ({ execId: 'call_1-1' }) } as const;
  await Promise.all([send(call), Promise.resolve().then(() => send(info))]);
  await new Promise(setImmediate);
  await send(info);
  await new Promise(setImmediate);
  expect(failed).toEqual([]);
  expect(writes.map((chunks) => chunks.map((chunk) => chunk.subarray(9).toString()))).toEqual([
    ['{"operation":"answer","execId":"call_1-1","number":1,"size":2}', '{}', '{"operation":"info","execId":"call_1-1"}'],
    ['{"operation":"info","execId":"call_1-1"}'],
  ]);
  stream.destroy();
});
