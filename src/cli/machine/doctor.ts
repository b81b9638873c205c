import { release } from 'node:os';
import type { Config } from '../../platform/config.ts';
import { inspectEngine, type EngineReport } from '../../setup/engine-facts.ts';
import { judgeGvisorScript } from '../../setup/gvisor-script.ts';
import { hasPostgresFiles } from '../../setup/postgres-files.ts';
import { sandboxImageState } from '../../setup/sandbox-image.ts';
import { createLogger } from '../../platform/log.ts';
import { describeFence, probeFence } from '../../plugins/isolates/fence/fence.ts';
import { createCapabilities } from '../../sandbox/lifecycle/base/sandbox-capabilities.ts';
import { createEngine } from '../../sandbox/engine/docker/engine.ts';
import { LOCAL_WARNING } from '../../sandbox/lifecycle/local-sandboxes.ts';
import { createBlobStore } from '../../store/blobs/create-blob-store.ts';
import { openDatabase } from '../../store/database/database.ts';
import { named } from '../../store/database/fit-schema.ts';
import { readSchemaState } from '../../store/database/migrate.ts';
import { kernelLines } from './doctor-kernel.ts';
import { messageOf, type DoctorLine } from './doctor-line.ts';
import { serviceLines } from './doctor-service.ts';
import { temporalLines } from './doctor-temporal.ts';

type PresentEngine = Extract<EngineReport, { outcome: 'present' }>;

/** Checks everything that Longshore needs on this machine; changes nothing and never throws. */
export async function runDoctor(config: Config): Promise<DoctorLine[]> {
  const groups = await Promise.all([
    sandboxLines(config),
    temporalLines(config),
    postgresLine(config),
    blobLine(config),
    fenceLine(config),
    serviceLines(config),
  ]);
  return [nodeLine(process.versions.node), ...groups.flat(), metricsLine(config)];
}

/** When sandboxes do not need Docker, a missing part of Docker is not a problem. */
async function sandboxLines(config: Config): Promise<DoctorLine[]> {
  const lines = [...(await engineLines(config)), await imageLine(config)];
  const backend = config.LONGSHORE_SANDBOX_BACKEND;
  if (backend === 'docker') return lines;
  const todo = 'For anything but development: LONGSHORE_SANDBOX_BACKEND=docker';
  const line: DoctorLine =
    backend === 'local' ? { name: 'Sandbox backend', ok: 'warning', found: LOCAL_WARNING, todo } : { name: 'Sandbox backend', ok: 'ok', found: backend };
  return [line, ...lines.map((each): DoctorLine => (each.ok === 'missing' ? { ...each, ok: 'warning' } : each))];
}

/** Judges a Node version, such as `20.19.1`. */
export function nodeLine(version: string): DoctorLine {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > 20 || (major === 20 && minor >= 19);
  return enough
    ? { name: 'Node', ok: 'ok', found: version }
    : { name: 'Node', ok: 'missing', found: version, todo: 'Install Node.js 24; 20.19 is the oldest that works' };
}

/** @param readSetting reads a setting of the kernel of this machine */
export async function engineLines(config: Config, readSetting?: (name: string) => Promise<string>): Promise<DoctorLine[]> {
  const facts = await inspectEngine(config.DOCKER_HOST);
  const isPresent = facts.outcome === 'present';
  const ofEngine = linesOfEngine(facts, await judgeGvisorScript(isPresent ? facts.gvisorProgram : undefined));
  // An engine on another machine, or in a virtual one, has a kernel of its own.
  const isOurKernel = isPresent && facts.kernel === release();
  const lines = [...ofEngine, ...(isOurKernel ? await kernelLines(readSetting) : [])];
  const checkpoint = lines.findIndex(({ name, ok }) => name === 'Checkpoint' && ok === 'ok');
  return checkpoint === -1 ? lines : lines.with(checkpoint, await tryCheckpoint(config));
}

/** The engine's own report is not enough: a small sandbox is checkpointed and woken as a test. */
async function tryCheckpoint(config: Config): Promise<DoctorLine> {
  const name = 'Checkpoint';
  const { DOCKER_HOST: host, LONGSHORE_INSTALLATION: installation, LONGSHORE_SANDBOX_IMAGE: standardImage } = config;
  const log = createLogger({ LONGSHORE_LOG_LEVEL: 'silent' });
  const todo = 'Optional: build the gVisor that is known to work and register it: longshore setup --gvisor';
  try {
    const found = await createCapabilities({ engine: createEngine(host), installation, standardImage, log })();
    if (found.checkpoint) return { name, ok: 'ok', found: 'tested: a container was checkpointed and restored' };
    return { name, ok: 'warning', found: `tested, and it does not work: ${found.problem ?? 'unknown'}`, todo };
  } catch (error) {
    return { name, ok: 'warning', found: `could not be tested: ${messageOf(error)}`, todo: 'Repair that first' };
  }
}

/** The lines about the Docker engine, from its own report. */
export function linesOfEngine(facts: EngineReport, script: Awaited<ReturnType<typeof judgeGvisorScript>>): DoctorLine[] {
  if (facts.outcome === 'absent')
    return [
      { name: 'Docker engine', ok: 'missing', found: facts.problem, todo: 'Start Docker; as root on Debian or Ubuntu, longshore dev installs and starts it' },
    ];
  const { runtimes, experimental, cgroupVersion, version, operatingSystem } = facts;
  const gvisor = runtimes.includes('runsc');
  return [
    { name: 'Docker engine', ok: 'ok', found: `${version} on ${operatingSystem}` },
    runtimesLine(facts, script),
    experimental && gvisor
      ? { name: 'Checkpoint', ok: 'ok', found: 'enabled' }
      : {
          name: 'Checkpoint',
          ok: 'warning',
          found: experimental ? 'enabled, but no runtime of this engine can restore a checkpoint' : 'not enabled; sandboxes rest frozen or stopped',
          todo: 'Optional, so that sandboxes hibernate: longshore setup --gvisor',
        },
    cgroupVersion === ''
      ? { name: 'Cgroups', ok: 'warning', found: 'none', todo: 'Mount cgroups; without them the limits of sandboxes have no effect' }
      : { name: 'Cgroups', ok: 'ok', found: `version ${cgroupVersion}` },
    diskLine(facts),
  ];
}

/** The mechanism that keeps the files of sandboxes within `diskMb`. Whether a storage was mounted with quotas is known only when a volume is made. */
function diskLine({ storageDriver, backingFilesystem, seccomp }: PresentEngine): DoctorLine {
  const name = 'Disk limit';
  const storage = `${storageDriver} on ${backingFilesystem || 'an unknown file system'}`;
  const quotas = /xfs|btrfs|zfs/.test(backingFilesystem || storageDriver);
  const watch = 'no fallocate, a limit on the size of a file, and a watch that ends commands about a second after they exceed the limit';
  if (quotas) return { name, ok: 'ok', found: `sized volumes, if it is mounted with quotas (${storage})${seccomp ? `; ${watch}` : ''}` };
  const todo = "Optional: put Docker's data directory on xfs mounted with pquota, so that the storage itself enforces the limit";
  if (seccomp) return { name, ok: 'warning', found: `${watch}; no quotas (${storage})`, todo };
  const found = `none: the engine has no seccomp, and its storage no quotas (${storage}); refused where NODE_ENV is production`;
  return { name, ok: 'missing', found, todo: 'Use a kernel and an engine with seccomp; without it no sandbox starts' };
}

function runtimesLine({ runtimes, gvisorProgram }: PresentEngine, script: 'current' | 'old' | 'other'): DoctorLine {
  const line = { name: 'Runtimes', found: runtimes.join(', ') };
  if (!runtimes.includes('runsc')) return { ...line, ok: 'warning', todo: 'Optional: gVisor (runsc) isolates sandboxes better: longshore setup --gvisor' };
  if (script === 'current') return { ...line, ok: 'ok' };
  const which = `${gvisorProgram ?? 'another program'}, ${script === 'old' ? "with another version's script" : "without Longshore's script"}`;
  const todo = 'Optional, so that sandboxes wake in half the time or less: longshore setup --gvisor, and restart the engine';
  return { ...line, ok: 'warning', found: `${line.found} (runsc is ${which})`, todo };
}

/** The store of archived sandboxes; a store outside Postgres is asked for what it contains. */
async function blobLine({ LONGSHORE_BLOBS: address, LONGSHORE_INSTALLATION: installation, DATABASE_URL: url }: Config): Promise<DoctorLine> {
  const name = 'Blob store';
  if (address === undefined) return { name, ok: 'ok', found: 'Postgres' };
  const database = openDatabase({ url, log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }), poolSize: 1 });
  try {
    const blobs = await createBlobStore({ address, installation, database }).list();
    return { name, ok: 'ok', found: `${address}, ${blobs.length} blobs` };
  } catch (error) {
    return { name, ok: 'warning', found: `${address}: ${messageOf(error)}`, todo: 'Check LONGSHORE_BLOBS; until then no sandbox can be archived' };
  } finally {
    await database.close();
  }
}

function metricsLine({ LONGSHORE_METRICS_ADDRESS: address }: Config): DoctorLine {
  const found =
    address === undefined ? 'in Postgres; not served (LONGSHORE_METRICS_ADDRESS)' : `in Postgres, and served by workers at http://${address}/metrics`;
  return { name: 'Metrics', ok: 'ok', found };
}

/** The isolation of third-party plugins, tested from inside. */
async function fenceLine({ DOCKER_HOST: engine }: Config): Promise<DoctorLine> {
  const fence = await probeFence(undefined, { engine });
  const line = { name: 'Plugin fence', found: describeFence(fence) };
  if (fence.level === 'A') return { ...line, ok: 'ok' };
  if (fence.level === 'B') return { ...line, ok: 'ok', todo: 'Optional, for level A: run workers as root on Linux' };
  return { ...line, ok: 'warning', todo: `${REFUSED_AT_C}. Why levels A and B are not possible here: ${(fence.obstacles ?? []).join('; ')}` };
}

const REFUSED_AT_C =
  'Third-party plugins are refused. On Linux with perl: let workers make namespaces (root with SYS_ADMIN, or user namespaces) or reach a Docker engine; or name plugins that you trust in LONGSHORE_WEAKLY_FENCED_PLUGINS';

async function imageLine({ LONGSHORE_SANDBOX_IMAGE: image, DOCKER_HOST: host }: Config): Promise<DoctorLine> {
  const name = 'Sandbox image';
  const state = await sandboxImageState(image, host).catch(messageOf);
  if (state === 'current') return { name, ok: 'ok', found: image };
  if (state === 'unlabelled') return { name, ok: 'ok', found: `${image}, which does not say from which files it was made` };
  if (state !== 'missing' && state !== 'stale') return { name, ok: 'missing', found: `not known: ${state}`, todo: 'Start the engine first' };
  return {
    name,
    ok: state === 'missing' ? 'missing' : 'warning',
    found: state === 'missing' ? `no ${image}` : `${image}, made from other files than those here`,
    todo: 'Build it: longshore setup --image',
  };
}

async function postgresLine({ DATABASE_URL: url, LONGSHORE_HOME: home, LONGSHORE_MIGRATE }: Config): Promise<DoctorLine> {
  const name = 'Postgres';
  const database = openDatabase({ url, log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }), poolSize: 1 });
  try {
    const [row] = await database.query<{ version: string }>('doctor.version', `select current_setting('server_version') as version`, []);
    const { pending, lacking } = await readSchemaState(database);
    if (lacking.length > 0) {
      const found = `${row?.version}, schema of a newer version, with which this one cannot work (it lacks ${named(lacking)})`;
      return { name, ok: 'missing', found, todo: 'Run the version that is used elsewhere in this installation' };
    }
    if (pending.length === 0) return { name, ok: 'ok', found: `${row?.version}, schema up to date` };
    if (LONGSHORE_MIGRATE === 'yes') return { name, ok: 'ok', found: `${row?.version}, schema to be made by the first worker` };
    return { name, ok: 'missing', found: `${row?.version}, the schema lacks ${named(pending)}`, todo: 'Run: longshore setup' };
  } catch (error) {
    if (await hasPostgresFiles(home))
      return {
        name,
        ok: 'warning',
        found: `${messageOf(error)}; the embedded server is installed`,
        todo: 'Start the stack: longshore dev; or set DATABASE_URL',
      };
    return { name, ok: 'missing', found: messageOf(error), todo: 'Set DATABASE_URL, or start one here: longshore dev' };
  } finally {
    await database.close();
  }
}
