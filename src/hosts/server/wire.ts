import type { WorkerHandle } from '../../sandbox/api/sandbox.ts';
import type { CallOf, SandboxCallName } from '../channel/calls.ts';
import type { Message } from '../channel/messages.ts';
import type { Sender } from '../channel/sender.ts';

/** The service's side of a call, while it lasts. */
export interface Wire {
  incoming: AsyncGenerator<Message>;
  sender: Sender;
  /** Aborts when the service has gone, or the worker ends. */
  signal: AbortSignal;
  /** Aborts when the worker begins to end: what goes on without a caller is let go. */
  stopping: AbortSignal;
}

export type Operation<Name extends SandboxCallName> = (handle: WorkerHandle, call: CallOf<Name>, wire: Wire) => Promise<void>;
