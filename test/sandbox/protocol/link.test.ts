import { Duplex } from 'node:stream';
import { unsent } from '../../../src/sandbox/protocol/call.ts';
import { openLink } from '../../../src/sandbox/protocol/link.ts';

test('a request and the bytes that follow it at once are one write', async () => {
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
  link.send({ ...unsent(call), finish: () => undefined, fail: (error) => failed.push(error) }, true);
  expect(failed).toEqual([]);
  expect(writes.map((chunks) => chunks.map((chunk) => chunk.subarray(9).toString()))).toEqual([
    ['{"operation":"answer","execId":"call_1-1","number":1,"size":2}', '{}'],
  ]);
  stream.destroy();
});
