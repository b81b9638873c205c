import { describeFence, probeFence, type Fence, type FenceLevel } from './fence/fence.ts';
import { createTurns } from '../../common/turns.ts';
import { writeGuestScript } from './guest-script.ts';
import { startPluginProcess, type PluginProcess } from './plugin-process.ts';

/** The source of processes for plugins. */
export interface Processes extends AsyncDisposable {
  level: FenceLevel;
  /** `level A (…)`, with what is missing. */
  fence: string;
  /** A new process that is ready. One is started in advance, so that a plugin whose process was ended does not wait for a start. */
  take(): Promise<PluginProcess>;
}

/** Delay before the next spare process starts: the start would take processor time from the process that was just taken. */
const HEAD_START_MS = 150;

/**
 * Prepares processes for plugins; disposing it ends all of them.
 * @param known the fence, where it has been probed already.
 * @param place where their program is written; by default, the directory for temporary files.
 */
export async function openProcesses(known?: Fence, place?: string): Promise<Processes> {
  let script = await writeGuestScript(place);
  const fence = known ?? (await probeFence(undefined, { script: script.path }));
  const all = new Set<PluginProcess>();
  let open = true;
  const start = (): PluginProcess => {
    const started = startPluginProcess(fence, script);
    all.add(started);
    void started.gone.then(() => all.delete(started));
    return started;
  };
  const { inTurn } = createTurns();
  const replaceScript = async (): Promise<void> => {
    if (!(await script.isThere())) script = await writeGuestScript(place);
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
      await inTurn(replaceScript);
      if (!open) throw new Error('the worker is stopping');
      const kept = spare?.alive() ? spare : undefined;
      const taken = kept ?? start();
      spare = undefined;
      // Where processes are taken quickly one after the other, as when many plugins are loaded, the next spare is needed soon.
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
