import { readMemoryShare } from '../../../platform/read-memory-share.ts';
import type { HostDisk } from '../../../store/service/fleet.ts';
import type { DiskSpace, Engine } from '../../engine/engine.ts';

/** Milliseconds. */
const KEPT_MS = 5_000;
/** A host that has had too little takes sandboxes again only with so much more, so that it does not go to and fro. */
const AGAIN = 1.25;

/** The disk of this host's engine, measured once in a while. Undefined where it is not known. */
export function createOwnDisk(engine: Pick<Engine, 'disk'>, setting: string, now = () => performance.now()): () => Promise<HostDisk | undefined> {
  let known: { until: number; disk: Promise<HostDisk | undefined> } | undefined;
  let isShort = false;
  const measure = async () => {
    const space = await engine.disk?.();
    const disk = space && judgeDisk(space, setting, isShort);
    isShort = disk?.isShort === true;
    return disk;
  };
  return () => {
    if (known && now() < known.until) return known.disk;
    const disk = measure();
    known = { until: now() + KEPT_MS, disk };
    disk.catch(() => (known = undefined));
    return disk;
  };
}

/** @param wasShort what was said of it before */
export function judgeDisk({ freeBytes, totalBytes }: DiskSpace, setting: string, wasShort: boolean): HostDisk {
  const least = leastOf(setting, totalBytes);
  const againBytes = Math.ceil(least * AGAIN);
  return { freeBytes, totalBytes, againBytes, isShort: freeBytes < (wasShort ? againBytes : least) };
}

function leastOf(setting: string, totalBytes: number): number {
  const share = readMemoryShare(setting);
  if (share === undefined || share === 'off') return 0;
  return 'bytes' in share ? share.bytes : share.part * totalBytes;
}
