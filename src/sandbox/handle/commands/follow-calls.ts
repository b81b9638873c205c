import { anySignal } from '../../../common/any-signal.ts';
import type { WorkingConnection } from '../../protocol/supervisor-connection.ts';
import type { RunOptions } from '../../api/commands.ts';

/** Calls are followed only after this time: most commands have ended by then, and code needs longer for its first call. An earlier call waits. Milliseconds. */
const FIRST_CALL_MS = 10;

/** Follows the tool calls of an exec's code while the exec itself is followed. Errors of the exec are reported by `running` only. */
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
    const signals = signal ? anySignal([signal, over.signal]) : over.signal;
    connection.calls(execId, { onCall: (call) => onMethodCall({ execId, ...call }), signal: signals }).catch(() => undefined);
  };
  const timer = isBegun ? undefined : setTimeout(follow, FIRST_CALL_MS);
  if (isBegun) follow();
  try {
    return await running;
  } finally {
    clearTimeout(timer);
    over?.abort();
  }
}
