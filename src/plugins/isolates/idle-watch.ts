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
    const wantedMs = await processorTimeOf(process.pid);
    if (wantedMs === undefined) return;
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

/** Milliseconds for which the main thread ran on a processor or waited for one. The main thread runs the plugin's code. */
async function processorTimeOf(pid: number | undefined): Promise<number | undefined> {
  const numbers = await readFile(`/proc/${await programOf(pid)}/schedstat`, 'utf8').catch(() => undefined);
  const [ran, waited] = numbers?.split(' ') ?? [];
  return ran === undefined || waited === undefined ? undefined : (Number(ran) + Number(waited)) / 1_000_000;
}

/** The only child of the launcher; without a launcher, the process itself. */
async function programOf(pid: number | undefined): Promise<string> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return children.split(' ')[0] || String(pid);
}
