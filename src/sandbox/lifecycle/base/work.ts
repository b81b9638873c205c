import type { SupervisorConnection } from '../../protocol/supervisor-connection.ts';
import type { Target } from './open-stream.ts';

export type Operation<T> = (connection: SupervisorConnection) => Promise<T>;

/** The operations in progress of this process. Each finds its sandbox awake, and none waits for a sandbox that rests without a reason. */
export interface Work {
  /**
   * Runs an operation whose caller waits for it, and wakes the sandbox for it first. While it lasts, a freeze that was not a pause is held off, or
   * undone where another process has made it. It fails when the sandbox is stopped, lost or destroyed.
   */
  perform<T>(target: Target, operation: Operation<T>): Promise<T>;
  /** The same for one that has nothing to do while the sandbox rests, such as a watch: it wakes the sandbox at first, and then follows it into any rest. */
  observe<T>(target: Target, operation: Operation<T>): Promise<T>;
  isUnderWay(sandboxId: string): boolean;
}
