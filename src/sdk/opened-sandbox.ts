import { checkedHandle, withoutHostMethods } from '../sandbox/options/checked-handle.ts';
import type { OpenedSandbox, SandboxHandle } from '../sandbox/api/sandbox.ts';
import { createControl, type SandboxControl } from './sandbox-control.ts';
import { closedError, untilClosed, type Closed } from './until-closed.ts';
import type { OpenParts } from './with-sandboxes.ts';

/**
 * A sandbox without a conversation. Disposing it destroys it. After it was destroyed or released, its methods fail with `SANDBOX_CLOSED`. Calls that are in
 * progress when it is destroyed fail with `SANDBOX_DESTROYED`.
 */
export interface OpenSandbox extends SandboxHandle, SandboxControl {
  /** What an earlier run of this sandbox lost, such as running commands. Absent when nothing was lost. */
  readonly lost?: string;
  /** Closes the handle without destroying the sandbox: its commands continue, and `openSandbox({ sandboxId })` opens it again until it expires. */
  release(): Promise<void>;
  /** Ends its processes and removes its files. Succeeds when it is destroyed already. @throws SANDBOX_CLOSED after `release` */
  destroy(): Promise<void>;
  /** Destroys it, unless it was released. */
  [Symbol.asyncDispose](): Promise<void>;
}

export function createOpenSandbox(parts: OpenParts, opened: OpenedSandbox): OpenSandbox {
  const { sandboxId } = opened.handle;
  let end: { how: Closed; done: Promise<void> } | undefined;
  const close = (how: Closed, done: () => Promise<void>): Promise<void> => {
    end = { how, done: done() };
    return end.done;
  };
  const destroy = async () => {
    if (end?.how === 'released') throw closedError('destroy', 'released', { sandboxId });
    await (end?.done ?? close('destroyed', () => destroyAndClose(parts, sandboxId)));
  };
  return {
    ...untilClosed({ ...withoutHostMethods(checkedHandle(opened.handle)), ...createControl(parts, sandboxId) }, { sandboxId, closed: () => end?.how }),
    ...(opened.lost !== undefined && { lost: opened.lost }),
    async release() {
      if (end?.how === 'destroyed') throw closedError('release', 'destroyed', { sandboxId });
      await (end?.done ?? close('released', async () => parts[Symbol.asyncDispose]()));
    },
    destroy,
    [Symbol.asyncDispose]: () => end?.done ?? destroy(),
  };
}

async function destroyAndClose(parts: OpenParts, sandboxId: string): Promise<void> {
  try {
    await parts.sandboxes.destroy(sandboxId);
  } finally {
    await parts[Symbol.asyncDispose]();
  }
}
