/** Of the options of a sandbox, those that say when it may rest, in milliseconds; 0 of `freezeAfterMs` is never. */
interface RestOptions {
  keepalive?: number | true;
  freezeAfterMs?: number;
}

const FREEZE_MS = 30_000;

/** Milliseconds without work until an idle sandbox is frozen; 0 when it never is. */
export function freezeAfter(sandbox: RestOptions): number {
  return restAfter(sandbox, sandbox.freezeAfterMs ?? FREEZE_MS);
}

/** The same for a rest after `idleMs`, which begin when the sandbox is not kept alive any more. */
export function restAfter({ keepalive = 0 }: Pick<RestOptions, 'keepalive'>, idleMs: number): number {
  return keepalive === true || idleMs === 0 ? 0 : keepalive + idleMs;
}
