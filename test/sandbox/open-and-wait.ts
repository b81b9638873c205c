import { openSandbox, type OpenSandboxOptions } from '../../src/sandbox.ts';

/** A program that opens a sandbox as its argument says, tells its id, and is killed. */
const sandbox = await openSandbox(JSON.parse(process.argv[2] ?? '{}') as OpenSandboxOptions);
process.stdout.write(`${sandbox.sandboxId}\n`);
setInterval(() => undefined, 1000);
