import { duplexPair } from 'node:stream';
import { pino } from 'pino';
import { connectSupervisor } from '../../../src/sandbox/protocol/connect-supervisor.ts';
import { encodeFrame, FRAMES, FrameReader, PROTOCOL_VERSION } from '../../../src/sandbox/protocol/frames.ts';
import { LocalSupervisor } from '../supervisor/local-supervisor.ts';

/** A supervisor that answers greetings as told, and pings; and what it was asked. */
function greeted(answer: (fields: Record<string, unknown>) => { kind: 'end' | 'error'; value: object }) {
  const asked: Record<string, unknown>[] = [];
  const openStream = async () => {
    const [ours, theirs] = duplexPair();
    const reader = new FrameReader(({ type, channel, payload }) => {
      if (type !== FRAMES.request) return;
      const { operation, ...fields } = JSON.parse(payload.toString()) as { operation: string };
      if (operation === 'hello') asked.push(fields);
      const { kind, value } = operation === 'hello' ? answer(fields) : { kind: 'end' as const, value: {} };
      ours.write(encodeFrame(FRAMES[kind], channel, JSON.stringify(value)));
    });
    ours.on('data', (chunk: Buffer) => reader.push(chunk));
    ours.on('error', () => undefined);
    return theirs;
  };
  return {
    asked,
    connection: connectSupervisor({ openStream, terms: () => ({ diskBytes: 1, fence: 7 }), sandboxId: 'sbx_1', log: pino({ level: 'silent' }) }),
  };
}

const HELLO = { version: PROTOCOL_VERSION, supervisorId: 'one', bootedAt: 'now' };

test('a worker that names an older container than another has named is refused; one that names a newer one is not', async () => {
  await using supervisor = await LocalSupervisor.start();
  const naming = (fence: number) => supervisor.connect({ terms: () => ({ fence }) });
  await naming(7).ping();
  await expect(naming(6).ping()).rejects.toMatchObject({
    code: 'SANDBOX_SUPERSEDED',
    retryable: true,
    message: `This container of sandbox "${supervisor.sandboxId}" may not act for it any more: its supervisor is that of container number 7, not 6. Nothing of it counts; the same call goes on in the newer one.`,
  });
  await naming(7).ping();
  // Processes that were restored in another container.
  await naming(8).ping();
});

test('a supervisor of an earlier image does not know the field, and is greeted without it', async () => {
  const { asked, connection } = greeted((fields) =>
    'fence' in fields ? { kind: 'error', value: { code: 'INVALID_ARGUMENT', problem: "hello has no field 'fence'" } } : { kind: 'end', value: HELLO },
  );
  await connection.ping();
  expect(asked).toEqual([
    { version: PROTOCOL_VERSION, diskBytes: 1, fence: 7 },
    { version: PROTOCOL_VERSION, diskBytes: 1 },
  ]);
  connection.close();
});

test('an answer with another number is refused, and nothing is sent to it', async () => {
  const { connection } = greeted(() => ({ kind: 'end', value: { ...HELLO, fence: 9 } }));
  await expect(connection.ping()).rejects.toMatchObject({
    code: 'SANDBOX_SUPERSEDED',
    values: { sandboxId: 'sbx_1', problem: 'its supervisor is that of container number 9, not 7' },
  });
  connection.close();
});
