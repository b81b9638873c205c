import { describeFence, probeFence, type Fence, type FenceLevel } from './fence/fence.ts';
import { writeGuestScript } from './guest-script.ts';
import { startPluginProcess, type PluginProcess } from './plugin-process.ts';

/** Where plugins get their processes from. */
export interface Processes extends AsyncDisposable {
  level: FenceLevel;
  /** `level A (…)`, with what is missing. */
  fence: string;
  /** A fresh process that is ready. One is kept in advance, so that a plugin whose process was ended does not wait for a start. */
  take(): Promise<PluginProcess>;
}

/** In which a plugin gets to work in the process that it took, without another that starts beside it and takes the processors from it. */
const HEAD_START_MS = 150;

/**
 * Prepares processes for plugins; disposing it ends every one of them.
 * @param known the fence, where it has been probed already.
 */
export async function openProcesses(known?: Fence): Promise<Processes> {
  const script = await writeGuestScript();
  const fence = known ?? (await probeFence(undefined, { script: script.path }));
  const all = new Set<PluginProcess>();
  let open = true;
  const start = (): PluginProcess => {
    const started = startPluginProcess(fence, script);
    all.add(started);
    void started.gone.then(() => all.delete(started));
    return started;
  };
  let spare: PluginProcess | undefined = start();
  let timer: NodeJS.Timeout | undefined;
  const startSpare = (afterMs: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => (spare = start()), afterMs);
  };
  return {
    level: fence.level,
    fence: describeFence(fence),
    async take() {
      if (!open) throw new Error('the worker is stopping');
      const kept = spare?.alive() ? spare : undefined;
      const taken = kept ?? start();
      spare = undefined;
      // Where one is taken after the other, as when many plugins are loaded, each that is begun early is wanted soon.
      startSpare(kept ? HEAD_START_MS : 0);
      await taken.ready;
      return taken;
    },
    async [Symbol.asyncDispose]() {
      open = false;
      clearTimeout(timer);
      const last = [...all];
      for (const each of last) each.kill('the worker is stopping');
      await Promise.all(last.map(({ gone }) => gone));
      await script[Symbol.asyncDispose]();
    },
  };
}
