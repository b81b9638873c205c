import { failure } from '../../../src/contracts/errors.ts';
import { whenThereIsRoom } from '../../../src/sandbox/handle/commands/when-there-is-room.ts';
import type { ExecEnd, ExecSpec, WorkingConnection } from '../../../src/sandbox/protocol/supervisor-connection.ts';

const SPEC = { execId: 'one' } as ExecSpec;
const END = { exit: { status: 'exited' } } as ExecEnd;

/** The start of a command is on its way for as long as the test wants; until then nothing finds the command. */
function slowStart() {
  let isThere = false;
  let end: () => void = () => undefined;
  const ended = new Promise<ExecEnd>((resolve) => (end = () => resolve(END)));
  const asked: string[] = [];
  const find = async (what: string) => {
    asked.push(what);
    if (!isThere) throw failure('EXEC_NOT_FOUND', { execId: SPEC.execId, sandboxId: 'sbx_a' });
  };
  const connection = { run: () => ended, input: () => find('input'), calls: () => find('calls') } as unknown as WorkingConnection;
  return { connection: whenThereIsRoom(connection), asked, arrive: () => (isThere = true), end };
}

test.each(['input', 'calls'] as const)('a request (%s) that overtakes the start of its command is repeated until the command is there', async (what) => {
  const { connection, asked, arrive, end } = slowStart();
  const running = connection.run(SPEC, { previewBytes: 0 });
  const given = what === 'input' ? connection.input('one', Buffer.from('a'), { end: true }) : connection.calls('one', { onCall: () => undefined });
  while (asked.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  arrive();
  await given;
  end();
  expect(await running).toBe(END);
});

test('input of a command that has ended, or that nobody has started here, is refused', async () => {
  const { connection, end } = slowStart();
  await expect(connection.input('one', Buffer.from('a'), { end: true })).rejects.toMatchObject({ code: 'EXEC_NOT_FOUND' });
  const running = connection.run(SPEC, { previewBytes: 0 });
  const given = connection.input('one', Buffer.from('a'), { end: true });
  end();
  await running;
  await expect(given).rejects.toMatchObject({ code: 'EXEC_NOT_FOUND' });
});
