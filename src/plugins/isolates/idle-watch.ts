import { readFile } from 'node:fs/promises';
import type { Calls } from './calls.ts';
import type { PluginProcess } from './plugin-process.ts';

/**
 * Returns a function that the caller runs from time to time. It ends the process when the process wanted a processor for more than half of `windowMs` while
 * none of its calls was under way, because no call needs that work. It does nothing where the system does not report the processor time.
 */
export function createIdleWatch(process: PluginProcess, calls: Pick<Calls, 'begun' | 'underWay'>, windowMs: number): () => Promise<void> {
  let since: { at: number; wantedMs: number; begun: number } | undefined;
  return async () => {
    const time = await processorTimeOf(process.pid);
    if (time === undefined) return;
    const wantedMs = time.ranMs + time.waitedMs;
    const now = { at: performance.now(), wantedMs, begun: calls.begun() };
    if (!since || calls.underWay() > 0 || since.begun !== now.begun) {
      since = now;
      return;
    }
    const ms = now.at - since.at;
    if (ms < windowMs) return;
    if (wantedMs - since.wantedMs > ms / 2) process.kill(`it kept a processor busy for ${windowMs} ms without a call`);
    since = now;
  };
}

/** How long the main thread, which runs the plugin's code, ran on a processor and how long it waited for one. Undefined where the system does not say. */
export async function processorTimeOf(pid: number | undefined): Promise<{ ranMs: number; waitedMs: number } | undefined> {
  const numbers = await readFile(`/proc/${await programOf(pid)}/schedstat`, 'utf8').catch(() => undefined);
  const [ran, waited] = numbers?.split(' ') ?? [];
  return ran === undefined || waited === undefined ? undefined : { ranMs: Number(ran) / 1_000_000, waitedMs: Number(waited) / 1_000_000 };
}

/** The only child of the launcher; without a launcher, the process itself. */
async function programOf(pid: number | undefined): Promise<string> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return children.split(' ')[0] || String(pid);
}
