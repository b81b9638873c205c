import type { WorkingConnection } from '../../protocol/supervisor-connection.ts';
import type { RunOptions } from '../../api/commands.ts';

/** Code needs longer than this to come to its first call, and most commands are over by then; a call made sooner waits. Milliseconds. */
const FIRST_CALL_MS = 10;

/** Follows the calls of tools that an exec's code makes while the exec itself is followed; whatever goes wrong with the exec, its own follower says. */
export async function followCalls<End>(
  connection: WorkingConnection,
  execId: string,
  { onMethodCall, isBegun = false, signal }: Pick<RunOptions, 'onMethodCall' | 'isBegun' | 'signal'>,
  running: Promise<End>,
): Promise<End> {
  if (!onMethodCall) return running;
  let over: AbortController | undefined;
  const follow = (): void => {
    over = new AbortController();
    const signals = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
    connection.calls(execId, { onCall: (call) => onMethodCall({ execId, ...call }), signal: signals }).catch(() => undefined);
  };
  const timer = setTimeout(follow, isBegun ? 0 : FIRST_CALL_MS);
  try {
    return await running;
  } finally {
    clearTimeout(timer);
    over?.abort();
  }
}
