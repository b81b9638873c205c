/** Resolves after so many milliseconds, or at once when `signal` is aborted. Uses the global timer, which tests replace to skip the time. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve(undefined);
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve(undefined);
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener('abort', done, { once: true });
    return undefined;
  });
}
