/** Makes this machine ready: engine, sandbox image, Temporal, Postgres. Every step says what it did and how long it took. */
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { loadConfig } from '../src/platform/config.ts';
import { ensureDockerEngine } from '../src/setup/docker-engine.ts';
import { ensurePostgresFiles, hasPostgresFiles, serverUser } from '../src/setup/postgres-files.ts';
import { ensureSandboxImage } from '../src/setup/sandbox-image.ts';
import { registerSearchAttributes } from '../src/setup/search-attributes.ts';
import { ensureTemporalCli, findTemporalCli } from '../src/setup/temporal-cli.ts';

const quiet = process.argv.includes('--quiet');
const config = loadConfig();
const home = config.LONGSHORE_HOME;
const interrupted = new AbortController();
const { signal } = interrupted;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupted.abort());

/** What a step found or did; `anew` when the machine is not as it was. */
interface StepOutcome {
  anew: boolean;
  text: string;
}

async function step(name: string, work: (log: (line: string) => void) => Promise<StepOutcome>): Promise<void> {
  const started = performance.now();
  const { anew, text } = await work((line) => console.log(`setup: ${name}: ${line}`));
  if (anew || !quiet) console.log(`setup: ${name}: ${text} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
}

async function engineAndImage(): Promise<void> {
  await step('Docker engine', async (log) => {
    const outcome = await ensureDockerEngine({ logFile: join(home, 'dockerd.log'), log, signal });
    return { anew: outcome === 'started', text: outcome };
  });
  await step('sandbox image', async (log) => {
    const outcome = await ensureSandboxImage({ image: config.LONGSHORE_SANDBOX_IMAGE, log, signal });
    return { anew: outcome === 'built', text: `${config.LONGSHORE_SANDBOX_IMAGE} ${outcome}` };
  });
}

async function temporal(): Promise<void> {
  const address = process.env['TEMPORAL_ADDRESS'];
  await step('Temporal', async (log) => {
    if (address) {
      const connection = await Connection.connect({ address });
      const added = await registerSearchAttributes(connection, config.TEMPORAL_NAMESPACE);
      await connection.close();
      return { anew: added.length > 0, text: `${address}, search attributes ${added.length > 0 ? `added: ${added.join(', ')}` : 'present'}` };
    }
    const found = await findTemporalCli(home, signal);
    return { anew: found === undefined, text: found ?? (await ensureTemporalCli({ home, log, signal })) };
  });
}

async function postgres(): Promise<void> {
  await step('Postgres', async (log) => {
    if (process.env['DATABASE_URL']) return { anew: false, text: 'DATABASE_URL is set' };
    const anew = !(await hasPostgresFiles(home));
    return { anew, text: `embedded, ${await ensurePostgresFiles({ home, log, user: await serverUser(), signal })}` };
  });
}

const outcomes = await Promise.allSettled([engineAndImage(), temporal(), postgres()]);
if (signal.aborted) {
  console.error('setup: interrupted; what it had started has ended. Run it again: npm run setup');
  process.exit(130);
}
const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
for (const { reason } of failed) console.error(`setup: ${reason instanceof Error ? reason.message : String(reason)}`);
// The SDK's native client may hold the process for a while after a failed connection.
process.exit(failed.length === 0 ? 0 : 1);
