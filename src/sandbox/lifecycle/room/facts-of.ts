import { failure } from '../../../contracts/errors.ts';
import type { Config } from '../../../platform/config.ts';
import { readMemoryShare } from '../../../platform/read-memory-share.ts';
import type { HostDisk, HostFacts } from '../../../store/service/fleet.ts';
import type { Engine, EngineFacts } from '../../engine/engine.ts';

type Facts = Omit<HostFacts, 'version'>;
type Settings = Pick<Config, 'LONGSHORE_HOST_MEMORY' | 'LONGSHORE_HOST_LABELS'>;

/** What a host has for its sandboxes, by its engine and its settings. @throws CONFIG_INVALID for a share of a memory that the engine does not tell */
export function factsOf({ runtimes, memoryBytes, cpus }: Pick<EngineFacts, 'runtimes' | 'memoryBytes' | 'cpus'>, settings: Settings): Facts {
  const { LONGSHORE_HOST_LABELS: labels, LONGSHORE_HOST_MEMORY: memory } = settings;
  const allowedBytes = allowedOf(memory, memoryBytes);
  return {
    runtimes,
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(cpus !== undefined && { cpus }),
    ...(allowedBytes !== undefined && { allowedBytes }),
    ...(labels.length > 0 && { labels }),
  };
}

/** As part of the facts. */
export function diskIn(disk: HostDisk | undefined): Pick<Facts, 'disk'> {
  return disk ? { disk } : {};
}

/** Whether the engine has the standard image, and which of the others. */
export async function presentOf(
  { engine: { imageId }, standardImage }: { engine: Pick<Engine, 'imageId'>; standardImage: string },
  images: readonly string[],
): Promise<Pick<Facts, 'images' | 'standardImage'>> {
  const present: string[] = [];
  for (const image of images) if ((await imageId(image)) !== undefined) present.push(image);
  return { ...(images.length > 0 && { images: present }), standardImage: (await imageId(standardImage)) !== undefined };
}

function allowedOf(text: string, memoryBytes: number | undefined): number | undefined {
  const share = readMemoryShare(text);
  if (share === undefined || share === 'off') return undefined;
  if ('bytes' in share) return share.bytes;
  if (memoryBytes !== undefined) return Math.floor(share.part * memoryBytes);
  const problem = `it is "${text}", and the engine does not tell how much memory its machine has`;
  throw failure('CONFIG_INVALID', { name: 'LONGSHORE_HOST_MEMORY', problem, fix: 'Write a size, such as 24g' });
}
