import type { MayWake } from '../../api/sandbox.ts';
import type { SupervisorConnection } from '../../protocol/supervisor-connection.ts';
import type { StreamTarget } from './open-stream.ts';

export type SandboxOperation<T> = (connection: SupervisorConnection) => Promise<T>;

/** This process's operations in progress. Wakes a resting sandbox for each of them. */
export interface Work {
  /**
   * Wakes the sandbox and runs an operation whose caller waits for it. During the operation, a freeze by this process that is not a pause has no
   * effect, and one by another process is undone. The operation fails when the sandbox is stopped, lost or destroyed. Where `mayWake` throws, it wakes nothing: it fails,
   * or waits like those that a pause has found.
   */
  perform<T>(target: StreamTarget, operation: SandboxOperation<T>, mayWake?: MayWake): Promise<T>;
  /** The same for an operation that has nothing to do while the sandbox rests, such as a watch: it wakes the sandbox once and does not keep it from resting. */
  observe<T>(target: StreamTarget, operation: SandboxOperation<T>, mayWake?: MayWake): Promise<T>;
  /** The same as `perform` for work that nobody waits for: a sandbox that is paused is not woken, and one that rests in another way has to be woken before. */
  attend<T>(target: StreamTarget, operation: SandboxOperation<T>): Promise<T>;
  isUnderWay(sandboxId: string): boolean;
}
