import type { SandboxOptions } from '../../contracts/agent.ts';
import type { Engine } from './engine.ts';

const DEFAULT_DISK_MB = 10_240;
/** Beyond the limit, so that the watchdog, which can say why, ends a command before the storage does; the journal needs room then as well. */
const RESERVE_MB = 64;

/** What a sandbox's files may take up, in MB; 0 is no limit. */
export function diskLimit({ diskMb = DEFAULT_DISK_MB }: Pick<SandboxOptions, 'diskMb'>): number {
  return diskMb;
}

/** What the storage has to keep the volume to, where it can: it holds whoever writes faster than the watchdog looks. */
export async function volumeLimit(engine: Pick<Engine, 'hasQuotas'>, options: Pick<SandboxOptions, 'diskMb'>): Promise<number | undefined> {
  const limit = diskLimit(options);
  return limit > 0 && (await engine.hasQuotas()) ? limit + RESERVE_MB : undefined;
}
