import { createServer } from 'node:http';
import { once } from 'node:events';
import { release } from 'node:os';
import type { AddressInfo } from 'node:net';
import { engineLines } from '../../../src/cli/machine/doctor.ts';
import { loadConfig } from '../../../src/platform/config.ts';

/** An engine with this kernel, which answers nothing but what it is. */
async function linesFor(kernel: string): Promise<string[]> {
  const info = { ServerVersion: '29.0.0', KernelVersion: kernel, OperatingSystem: 'another', CgroupVersion: '2', Driver: 'overlay2' };
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/info')) response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(info));
    else response.writeHead(404).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const low = async () => '128\n';
  try {
    const lines = await engineLines(loadConfig({ DOCKER_HOST: `tcp://127.0.0.1:${port}` }), low);
    return lines.map(({ name }) => name);
  } finally {
    server.close();
  }
}

test('limits of the kernel are those of this machine, so nothing is said of them for an engine with another kernel', async () => {
  expect(await linesFor(release())).toContain('Kernel limits');
  const elsewhere = await linesFor('5.10.0-of-another-machine');
  expect(elsewhere).toContain('Docker engine');
  expect(elsewhere).not.toContain('Kernel limits');
});
