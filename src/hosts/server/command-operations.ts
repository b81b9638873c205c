import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import type { ExecInfo } from '../../sandbox/api/commands.ts';
import type { SandboxHandle } from '../../sandbox/api/sandbox.ts';
import type { CallName } from '../channel/calls.ts';
import { dataOf } from '../channel/messages.ts';
import type { Operation } from './wire.ts';

type CommandCalls = Extract<CallName, `commands.${string}`>;

export const COMMAND_OPERATIONS: { [Name in CommandCalls]: Operation<Name> } = {
  async 'commands.start'(handle, { do: _do, command, openStdin = false, stdin, ...options }, { sender, stopping }) {
    // The text "open" itself is given as bytes: as a text it would mean an open input.
    const input = openStdin ? 'open' : stdin === undefined ? undefined : Buffer.from(stdin);
    const { execId } = await handle.start(command, withoutUndefined({ ...options, stdin: input }));
    // As it was found: a command of this id may have been started before.
    await sender.json(await infoOf(handle, execId));
    sender.end();
    await keptAwake(handle, execId, stopping);
  },
  async 'commands.list'(handle, _call, { sender }) {
    await sender.json(await handle.execs());
  },
  async 'commands.info'(handle, { execId }, { sender }) {
    await sender.json(await infoOf(handle, execId));
  },
  async 'commands.wait'(handle, { execId }, { sender, signal }) {
    await sender.json(await handle.attach(execId, undefined, { signal }));
  },
  async 'commands.follow'(handle, { execId, from }, { sender, signal }) {
    await sender.json(await infoOf(handle, execId));
    const pass = (stream: 'stdout' | 'stderr') => (chunk: Buffer) => sender.data(chunk, stream).catch(() => undefined);
    await sender.json(await handle.attach(execId, from, { onStdout: pass('stdout'), onStderr: pass('stderr'), signal }));
  },
  async 'commands.input'(handle, { execId, end }, { sender, incoming }) {
    for await (const bytes of dataOf(incoming)) await handle.writeStdin(execId, bytes);
    if (end) await handle.closeStdin(execId);
    await sender.json(null);
  },
  async 'commands.kill'(handle, { execId, signal }, { sender }) {
    await sender.json(await handle.kill(execId, signal));
  },
};

async function infoOf(handle: SandboxHandle, execId: string): Promise<ExecInfo> {
  const found = (await handle.execs()).find((one) => one.execId === execId);
  if (!found) throw failure('EXEC_NOT_FOUND', { execId, sandboxId: handle.sandboxId });
  return found;
}

/** Until the command has ended, the sandbox does not rest. When the worker ends, the command goes on without that. */
async function keptAwake(handle: SandboxHandle, execId: string, stopping: AbortSignal): Promise<void> {
  await handle.attach(execId, undefined, { signal: stopping }).catch(() => undefined);
}
