import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { randomBytes } from 'node:crypto';
import { pack } from 'tar-stream';
import Docker from 'dockerode';
import { loadConfig } from '../../../../src/platform/config.ts';
import { address, createEngine } from '../../../../src/sandbox/engine/docker/engine.ts';
import { testInstallation } from '../../../support/databases.ts';
import { until } from '../../lifecycle/support.ts';

const docker = new Docker();
const installation = testInstallation();
const { LONGSHORE_SANDBOX_IMAGE: image, DOCKER_HOST: host } = loadConfig();
const { socketPath: socket = '' } = address(host);
const volumes = ['source', 'target'].map((name) => `${installation}-${name}`);
const [source = '', target = ''] = volumes;

/** A way to the engine that ends at once, with all that goes over it, as with the process of a worker that is killed. */
interface Way extends AsyncDisposable {
  host: string;
  cut(): void;
}

async function openWay(): Promise<Way> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-way-'));
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ path: socket, allowHalfOpen: true });
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined));
    near.pipe(far).pipe(near);
  }).listen(join(directory, 's'));
  await once(server, 'listening');
  const cut = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return {
    host: `unix://${join(directory, 's')}`,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await rm(directory, { recursive: true });
    },
  };
}

let way: Way;
beforeEach(async () => {
  way = await openWay();
  for (const Name of volumes) await docker.createVolume({ Name });
});
afterEach(async () => {
  await way[Symbol.asyncDispose]();
  for (const { Id } of await jobs()) await docker.getContainer(Id).remove({ force: true });
  for (const name of volumes) await docker.getVolume(name).remove();
});

const copies = (way = host) => createEngine(way).copies!.jobs(installation, image);
const jobs = () => docker.listContainers({ all: true, filters: { label: [`longshore.installation=${installation}`] } });
const isRunning = async () => (await jobs()).some(({ State }) => State === 'running');
const noneIsLeft = async () => (await jobs()).length === 0;

async function archiveOf(name: string, content: Buffer): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name }, content);
  archive.finalize();
  return gzipSync(await buffer(archive));
}

test('a job that ends leaves no container when its call returns, whether it has failed or not', async () => {
  const content = randomBytes(100_000);
  await copies().unpack(Readable.from([await archiveOf('file', content)]), { volume: source });
  expect(await jobs()).toEqual([]);
  await copies().copy({ volume: source }, { volume: target });
  expect(await jobs()).toEqual([]);
  expect((await buffer(copies().pack({ volume: target }))).length).toBeGreaterThan(content.length);
  expect(await jobs()).toEqual([]);
  await expect(copies().unpack(Readable.from([Buffer.from('no archive')]), { volume: target })).rejects.toMatchObject({
    code: 'DOCKER_FAILED',
    message: expect.stringContaining('not in gzip format'),
  });
  expect(await jobs()).toEqual([]);
});

test('content that breaks is the error of its copy', async () => {
  async function* broken() {
    yield await archiveOf('file', randomBytes(100_000));
    throw new Error('the content broke');
  }
  await expect(copies().unpack(Readable.from(broken()), { volume: target })).rejects.toThrow('the content broke');
  expect(await jobs()).toEqual([]);
});

test('the container of a job whose worker is killed while it unpacks goes when the job ends', async () => {
  const unpacking = copies(way.host).unpack(new PassThrough(), { volume: target });
  const failed = expect(unpacking).rejects.toThrow();
  await until(isRunning, 'the job runs');
  way.cut();
  await failed;
  await until(noneIsLeft, 'the container is gone');
});

test('the container of a job whose worker is killed while it packs goes when the job ends', async () => {
  await copies().unpack(Readable.from([await archiveOf('file', randomBytes(20_000_000))]), { volume: source });
  const packing = copies(way.host).pack({ volume: source });
  await once(packing, 'readable');
  expect(await isRunning()).toBe(true);
  way.cut();
  await expect(buffer(packing)).rejects.toThrow();
  await until(noneIsLeft, 'the container is gone');
});
