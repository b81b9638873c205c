import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDirectories } from '../../../../src/sandbox/engine/local/directories.ts';

const HOUR_MS = 3_600_000;

test('what a process has left that was killed while it removed a sandbox is removed by a later removal, and not what another one removes now', async () => {
  const root = await mkdtemp(join(tmpdir(), 'longshore-waste-'));
  try {
    let nowMs = Date.now();
    const directories = createDirectories(root, () => nowMs);
    await mkdir(join(root, 'waste/left/home'), { recursive: true });
    await writeFile(join(root, 'waste/left/home/file'), 'large');
    const remove = async (name: string) => {
      const { place } = await directories.makePlace({ name, volumeName: name, labels: {} });
      await directories.removePlace(place);
      await directories.removeVolume(name);
    };
    await remove('one');
    expect(await readdir(join(root, 'waste'))).toEqual(['left']);
    nowMs += 2 * HOUR_MS;
    await remove('two');
    expect(await readdir(join(root, 'waste'))).toEqual([]);
  } finally {
    await rm(root, { recursive: true });
  }
});
