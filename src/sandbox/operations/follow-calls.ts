import type { WorkingConnection } from '../connection/supervisor-connection.ts';
import type { RunOptions } from '../sandbox.ts';

/** Follows the calls of tools that an exec's code makes while the exec itself is followed; whatever goes wrong with the exec, its own follower says. */
export async function followCalls<End>(
  connection: WorkingConnection,
  execId: string,
  { onMethodCall, signal }: Pick<RunOptions, 'onMethodCall' | 'signal'>,
  running: Promise<End>,
): Promise<End> {
  if (!onMethodCall) return running;
  const over = new AbortController();
  const signals = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
  connection.calls(execId, { onCall: (call) => onMethodCall({ execId, ...call }), signal: signals }).catch(() => undefined);
  try {
    return await running;
  } finally {
    over.abort();
  }
}
