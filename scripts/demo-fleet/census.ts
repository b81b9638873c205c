import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { listLeftovers, type TemporaryStack } from '../temporary-stack.ts';

/** What is left of a demo that has ended, one line each: containers, volumes, processes, mounts, temporary files. */
export async function takeCensus({ config, directory }: TemporaryStack): Promise<string[]> {
  const { LONGSHORE_INSTALLATION: installation } = config;
  return [
    ...(await listLeftovers(installation)),
    ...(await processesWith([directory, installation])),
    ...(await readFile('/proc/self/mountinfo', 'utf8'))
      .split('\n')
      .filter((line) => line.includes(directory))
      .map((line) => `mount ${line}`),
    ...(existsSync(directory) ? [`temporary files in ${directory}`] : []),
  ];
}

/** Workers have the name of the installation in their environment; servers and engines, with all that they start, have the directory in their command line. */
async function processesWith(words: string[]): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [command, environment] = await Promise.all(['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')));
      const isOurs = words.some((word) => `${command}${environment}`.includes(word));
      return isOurs ? [`process ${pid}: ${command?.replaceAll('\0', ' ')}`] : [];
    }),
  );
  return found.flat();
}
