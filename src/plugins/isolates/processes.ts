import { describeFence, probeFence, type FenceLevel } from './fence.ts';
import { writeGuestScript } from './guest-script.ts';
import { startPluginProcess, type PluginProcess } from './plugin-process.ts';

/** Where plugins get their processes from. */
export interface Processes extends AsyncDisposable {
  level: FenceLevel;
  /** `level A (…)`, with what is missing. */
  fence: string;
  /** A fresh process that is ready. One is always kept in advance, so that a plugin whose process was ended does not wait for a start. */
  take(): Promise<PluginProcess>;
}

/** Prepares processes for plugins; disposing it ends every one of them. */
export async function openProcesses(): Promise<Processes> {
  const [fence, script] = await Promise.all([probeFence(), writeGuestScript()]);
  const all = new Set<PluginProcess>();
  let open = true;
  const start = (): PluginProcess => {
    const started = startPluginProcess(fence, script);
    all.add(started);
    void started.gone.then(() => all.delete(started));
    return started;
  };
  let spare = start();
  return {
    level: fence.level,
    fence: describeFence(fence),
    async take() {
      if (!open) throw new Error('the worker is stopping');
      const taken = spare.alive() ? spare : start();
      spare = start();
      await taken.ready;
      return taken;
    },
    async [Symbol.asyncDispose]() {
      open = false;
      const last = [...all];
      for (const each of last) each.kill('the worker is stopping');
      await Promise.all(last.map(({ gone }) => gone));
      await script[Symbol.asyncDispose]();
    },
  };
}
