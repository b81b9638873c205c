import { ensureDockerEngine } from '../../src/setup/docker-engine.ts';

/** A script that makes sure of an engine twice at the same time, with the programs of its PATH, and prints what each call has found. */
const [logFile = ''] = process.argv.slice(2);
const start = () => ensureDockerEngine({ logFile, log: () => undefined });
process.stdout.write(JSON.stringify((await Promise.all([start(), start()])).toSorted()));
