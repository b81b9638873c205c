import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOwnEngine, whyNoOwnEngine } from '../../../scripts/own-engine.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { runCommand } from '../../../src/platform/run-command.ts';

export const missing = await whyNoOwnEngine();
export const testWithTwoEngines = missing === undefined ? test : test.skip;

/** A title that says why the test is left out. */
export const titled = (title: string) => `${title}${missing === undefined ? '' : ` (left out: ${missing})`}`;

/** Another engine beside that of the environment, with the image of sandboxes, and with gVisor when its program is given. */
export async function secondEngine(given: { runsc?: string; data?: string } = {}) {
  const engine = await createOwnEngine(given);
  await engine.start({ liveRestore: false });
  await engine.takeImage(loadConfig().LONGSHORE_SANDBOX_IMAGE);
  const containers = async () => (await runCommand('docker', ['--host', engine.host, 'ps', '--format', '{{.Names}}'])).stdout.split('\n').filter(Boolean);
  return { ...engine, containers };
}

/** The shortest that the setting takes. */
export const LOST = { LONGSHORE_HOST_LOST_AFTER: '30s' };

/** Takes connections to a port of the loopback interface, and passes them on to a Unix socket. */
const PASS_ON = `
  const { createServer, connect } = require('node:net');
  const [port, socket] = process.argv.slice(1);
  createServer((client) => client.pipe(connect(socket)).pipe(client)).listen(Number(port), '127.0.0.1', () => console.log('listening'));
`;

/** A server that builds reach at the same address of the loopback interface on each engine: a build uses the network of its host. */
export async function serverOfBuilds(answer: RequestListener) {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-server-'));
  const [local, remote] = [createServer(answer), createServer(answer)];
  await new Promise<void>((resolve) => local.listen(0, '127.0.0.1', resolve));
  const socket = join(directory, 'server.sock');
  await new Promise<void>((resolve) => remote.listen(socket, resolve));
  const { port } = local.address() as AddressInfo;
  const ends: (() => Promise<unknown>)[] = [];
  return {
    url: `http://127.0.0.1:${port}`,
    async reachableFrom(processId: number) {
      const args = ['--net', '--target', String(processId), process.execPath, '-e', PASS_ON, String(port), socket];
      const child = spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'inherit'] });
      ends.push(async () => {
        const ended = once(child, 'exit');
        child.kill();
        await ended;
      });
      await once(child.stdout, 'data');
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end();
      for (const server of [local, remote]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
      await rm(directory, { recursive: true });
    },
  };
}
