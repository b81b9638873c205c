import { withoutUndefined } from '../../common/without-undefined.ts';
import { isFailure } from '../../contracts/errors.ts';
import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import type { Pty, PtyFollow } from '../../sandbox/api/terminals.ts';
import { TERMINAL_ORDER, type CallName, type CallOf } from '../channel/calls.ts';
import type { Message } from '../channel/messages.ts';
import type { Operation } from './wire.ts';

type TerminalCalls = Extract<CallName, `terminals.${string}`>;
type Wanted = Omit<CallOf<'terminals.attach'>, 'do'>;

export const TERMINAL_OPERATIONS: { [Name in TerminalCalls]: Operation<Name> } = {
  async 'terminals.attach'(handle, { do: _do, ...wanted }, { sender, incoming, signal }) {
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const pty = await attachOrOpen(handle, wanted, {
      async onData(chunk) {
        await begun;
        await sender.data(chunk).catch(() => undefined);
      },
    });
    const detach = () => pty.detach();
    signal.addEventListener('abort', detach, { once: true });
    if (signal.aborted) detach();
    await sender.json({ terminal: pty.ptyId });
    begin();
    takeOrders(pty, incoming).catch(detach);
    await sender.json(await pty.ended);
  },
};

/** Two that open the same terminal at the same time get one. */
async function attachOrOpen(handle: SandboxHandle, { execId, from, ...open }: Wanted, follow: PtyFollow): Promise<Pty> {
  try {
    return await handle.attachPty(execId, { from, ...follow });
  } catch (error) {
    if (!isFailure(error, 'EXEC_NOT_FOUND')) throw error;
  }
  try {
    return await handle.openPty({ ptyId: execId, ...withoutUndefined(open), ...follow });
  } catch (error) {
    if (!isFailure(error, 'EXEC_MISMATCH')) throw error;
    return handle.attachPty(execId, { from, ...follow });
  }
}

async function takeOrders(pty: Pty, incoming: AsyncIterable<Message>): Promise<void> {
  for await (const message of incoming) {
    if (message.kind === 'data') {
      await pty.write(message.bytes);
      continue;
    }
    const order = TERMINAL_ORDER.parse(message.value);
    if (order.type === 'kill') await pty.kill();
    else await pty.resize({ columns: order.columns, rows: order.rows });
  }
}
