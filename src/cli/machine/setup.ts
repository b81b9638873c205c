import { join } from 'node:path';
import { checkNamespace, identifyNamespace, type NamespaceParts } from '../../client/temporal/own-namespace.ts';
import { createTemporalLink } from '../../client/temporal/temporal.ts';
import { failure } from '../../contracts/errors.ts';
import { checkDatabaseUrl, type Config } from '../../platform/config.ts';
import { readEncryptionKeys } from '../../platform/encryption-keys.ts';
import { restartOwnEngine } from '../../setup/docker-engine.ts';
import { ENGINE_SETTINGS, ensureRunsc, registerRunsc } from '../../setup/gvisor.ts';
import { ensureGvisorScript } from '../../setup/gvisor-script.ts';
import { inspectEngine } from '../../setup/engine-facts.ts';
import { ensureSandboxImage } from '../../setup/sandbox-image.ts';
import { registerSearchAttributes } from '../../setup/search-attributes.ts';
import { createLogger } from '../../platform/log.ts';
import { openStore } from '../../store/open-store.ts';
import type { Store } from '../../store/store.ts';
import { EXIT, printFact, printLine, type Cli } from '../output/cli.ts';

export interface SetupOptions {
  gvisor?: boolean;
  image?: boolean;
  moveDatabase?: boolean;
}

export async function setUp(cli: Cli, { gvisor, image, moveDatabase = false }: SetupOptions): Promise<void> {
  const config = cli.config();
  if (image) return untilInterrupted(cli, (signal) => setUpImage(cli, config, signal));
  if (gvisor) return untilInterrupted(cli, (signal) => setUpGvisor(cli, config.LONGSHORE_HOME, signal));
  const log = createLogger({ LONGSHORE_LOG_LEVEL: config.LONGSHORE_LOG_LEVEL });
  await using store = await openStore({ url: checkDatabaseUrl(config, config.DATABASE_URL), log, poolSize: 1 });
  printLine(cli, 'Postgres: the schema is up to date.');
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config;
  const temporal = createTemporalLink({ address, namespace, keys: readEncryptionKeys(config.LONGSHORE_ENCRYPTION_KEYS) });
  try {
    await bindDatabase(cli, store, { address, namespace, connection: await temporal.connection() }, moveDatabase);
    const added = await registerSearchAttributes(await temporal.connection(), namespace);
    printFact(cli, `Temporal: search attributes ${added.length > 0 ? `registered: ${added.join(', ')}` : 'exist already'}.`);
  } finally {
    await temporal.close();
  }
}

/** A build makes gigabytes in the temporary directory, which are removed when it is interrupted, too. */
async function untilInterrupted(cli: Cli, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interrupted = new AbortController();
  const release = cli.onInterrupt(() => interrupted.abort());
  try {
    await work(interrupted.signal);
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    cli.err.print('Interrupted; what was made so far is removed, except layers that the engine keeps for the next build. It can be repeated.\n');
    cli.exitCode = EXIT.interrupted;
  } finally {
    release();
  }
}

async function setUpImage(cli: Cli, { LONGSHORE_SANDBOX_IMAGE: image, DOCKER_HOST: host }: Config, signal: AbortSignal): Promise<void> {
  // A build takes minutes to fail without an engine, and says then that an image cannot be pulled.
  const engine = await inspectEngine(host);
  if (engine.outcome === 'absent') throw failure('DOCKER_UNAVAILABLE', { problem: engine.problem });
  const outcome = await ensureSandboxImage({ image, log: (line) => printFact(cli, line), signal });
  printFact(cli, `Sandbox image: ${image} ${outcome === 'built' ? 'built' : 'exists already'}.`);
}

async function bindDatabase(cli: Cli, store: Store, parts: NamespaceParts, move: boolean): Promise<void> {
  const here = move ? await identifyNamespace(parts) : undefined;
  if (here) await store.temporalHome.move(here);
  await checkNamespace(store.temporalHome, parts);
  printFact(cli, `Postgres: the database belongs to the Temporal namespace "${parts.namespace}".`);
}

async function setUpGvisor(cli: Cli, home: string, signal: AbortSignal): Promise<void> {
  const log = (line: string) => printFact(cli, line);
  const { program, built } = await ensureRunsc({ home, log, signal });
  signal.throwIfAborted();
  printFact(cli, `gVisor: ${program} ${built ? 'built' : 'exists already'}.`);
  const { script, written } = await ensureGvisorScript(home);
  printFact(cli, `Script that the engine starts it by: ${script} ${written ? 'written' : 'exists already'}.`);
  if (!(await registerRunsc({ script, program })))
    return printFact(cli, `${ENGINE_SETTINGS}: gVisor is registered. If longshore doctor does not see it, restart the engine.`);
  printFact(cli, `${ENGINE_SETTINGS}: gVisor is registered and checkpoints are on.`);
  const outcome = await restartOwnEngine({ logFile: join(home, 'dockerd.log'), log, signal });
  if (outcome === 'restarted') return printLine(cli, 'Docker engine: restarted.');
  const why = outcome === 'busy' ? 'containers run in it' : 'it was not started from here';
  return printFact(cli, `Docker engine: restart it yourself to use that, because ${why}. For example: systemctl restart docker`);
}
