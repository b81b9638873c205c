import { startTemporaryStack } from '../../scripts/temporary-stack.ts';

/** A script that starts a database for itself, tells its address, and ends as its argument says. */
const [how] = process.argv.slice(2);
await using stack = await startTemporaryStack('ending', { DATABASE_URL: '', LONGSHORE_LOG_LEVEL: 'error' }, () => undefined);
process.stdout.write(`${stack.config.DATABASE_URL}\n`);
const fault = () => new Error('the script has a fault');
if (how === 'throw') throw fault();
if (how === 'throw later') setTimeout(() => throwNow(), 10);
if (how === 'reject') void Promise.reject(fault());
await new Promise((resolve) => setTimeout(resolve, 600_000));

function throwNow(): never {
  throw fault();
}
