import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/platform/config.ts';
import { freePort } from '../../src/setup/ports.ts';
import { ensureTemporalCli } from '../../src/setup/temporal-cli.ts';
import { startTemporal } from '../../src/setup/temporal.ts';

/** A Temporal of one test file, whose data are in files. */
export interface OwnTemporal extends AsyncDisposable {
  address: string;
  /** Where the files `temporal.sqlite*` are. */
  directory: string;
}

/** @param settings more of its dynamic configuration */
export async function makeOwnTemporal(settings: Record<string, number> = {}): Promise<OwnTemporal> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-own-temporal-'));
  const program = await ensureTemporalCli({ home: loadConfig().LONGSHORE_HOME, log: () => undefined });
  const databaseFile = join(directory, 'temporal.sqlite');
  const server = await startTemporal({ program, port: await freePort(), databaseFile, namespace: 'default', settings, stateDir: directory });
  return {
    address: server.address,
    directory,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await rm(directory, { recursive: true });
    },
  };
}
