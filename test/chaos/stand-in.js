// Stands for the program `longshore`. A worker has a process below it that outlives it, where nothing else is asked for; a service listens nowhere.
import { spawn } from 'node:child_process';

const [command] = process.argv.slice(2);
if (command === 'worker') {
  if (process.env.STAND_IN === '') spawn('sleep', ['600'], { stdio: 'ignore', detached: true }).unref();
  console.error('worker ready');
} else console.log('Serving http://127.0.0.1:1. Its description: none');
if (process.env.STAND_IN === 'ends') setTimeout(() => process.exit(3), 100);
process.on('SIGTERM', () => process.exit(process.env.STAND_IN === 'fails' ? 4 : 0));
setInterval(() => undefined, 1_000_000);
