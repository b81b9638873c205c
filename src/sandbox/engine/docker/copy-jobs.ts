import type { CopyJobs, CopyPlace } from '../engine.ts';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type Docker from 'dockerode';
import { failure } from '../../../contracts/errors.ts';
import { attachRaw } from './attach.ts';
import { Bridge } from './bridge.ts';
import { removeContainer } from './containers.ts';
import { mapEngineError, mapped } from './errors.ts';
import { PAGES } from './checkpoints.ts';
import { BRING_BACK_COMMAND, copyJobCommand, type MountedPlace, type MountedTarget } from './copy-command.ts';
import { LABEL } from '../labels.ts';
import { SECURITY_OPTIONS } from './seccomp/profile.ts';

export interface CopyJobOptions {
  /** A client without a timeout: a call may be silent for as long as a copy takes. */
  docker: Docker;
  image: string;
  installation: string;
  /** The engine's data directory, which contains the checkpoints. */
  dataDirectory: () => Promise<string>;
}

const MEBIBYTE = 1024 * 1024;
const MEMORY_MB = 512;
/** All that a checkpoint knows of two hundred thousand files is in memory. */
const BACKUP_MEMORY_MB = 1024;

/**
 * Copies run in short-lived containers, isolated like sandboxes and without a network. They see only the two places of the host. Files of guests are
 * read and unpacked only there. A checkpoint is in the engine's data directory, so its job mounts the checkpoints of that one container.
 */
export function createCopyJobs(options: CopyJobOptions): CopyJobs {
  return {
    copy: (from, to) => withJob(options, { from, to }, (job) => job.ended),
    pack: (from) => packed(options, from),
    unpack: (content, to) => withJob(options, { to }, (job) => feed(content, job)),
    bringBack: (content, to) => withJob(options, { to, isBackup: true }, (job) => feed(content, job)),
  };
}

async function feed(content: Readable, job: Job): Promise<void> {
  const stopped = new AbortController();
  // A job that ends early, and an engine that is gone, are noticed also while the content has nothing to send.
  const { ended } = job;
  const stop = () => stopped.abort();
  ended.then(stop, stop);
  await pipeline(content, job.stream, { signal: stopped.signal }).catch(async (error: unknown) => {
    // The stream breaks with the job. The job's own error tells more than the stream's.
    if (stopped.signal.aborted || isBroken(error)) await ended;
    throw error;
  });
  await ended;
}

/** Whether a stream of the engine has broken. */
function isBroken(error: unknown): boolean {
  const { syscall, code } = error as NodeJS.ErrnoException;
  return syscall !== undefined || code === 'ERR_STREAM_DESTROYED';
}

function packed(options: CopyJobOptions, from: CopyPlace): Readable {
  return Readable.from(packing(options, from), { objectMode: false });
}

async function* packing(options: CopyJobOptions, from: CopyPlace): AsyncGenerator<Buffer> {
  const job = await startJob(options, { from });
  try {
    yield* job.stream as AsyncIterable<Buffer>;
    await job.ended;
  } catch (error) {
    throw isBroken(error) ? mapEngineError(error, job.action) : error;
  } finally {
    await job.remove();
  }
}

/** Without a source, the job reads an archive from its stdin; without a target, it writes one to its stdout. */
interface JobSpec {
  from?: CopyPlace;
  to?: CopyPlace;
  /** What it reads is a backup. */
  isBackup?: boolean;
}
interface Job {
  action: string;
  stream: Bridge;
  /** Resolves when the job has ended and its container is gone; rejects when its exit code is not 0. */
  ended: Promise<void>;
  remove(): Promise<void>;
}

async function withJob(options: CopyJobOptions, spec: JobSpec, work: (job: Job) => Promise<void>): Promise<void> {
  const job = await startJob(options, spec);
  try {
    job.stream.resume();
    await work(job);
  } finally {
    await job.remove();
  }
}

async function startJob(options: CopyJobOptions, spec: JobSpec): Promise<Job> {
  const action = `copy ${spec.from ? describe(spec.from) : 'an archive'} to ${spec.to ? describe(spec.to) : 'an archive'}`;
  const container = await createJob(options, spec).catch((error: unknown) => {
    throw mapEngineError(error, action, options.image);
  });
  const remove = () => removeContainer(options.docker, container.id);
  try {
    return await mapped(action, async () => {
      const stream = new Bridge(await attachRaw(container, { stdin: spec.from === undefined }), 'content');
      const ended = endOf(await untilGone(container), stream, action);
      // Who began the job may have lost interest in its end.
      ended.catch(() => undefined);
      await container.start();
      return { action, stream, ended, remove };
    });
  } catch (error) {
    await remove().catch(() => undefined);
    throw error;
  }
}

/** Begins to wait for the end of a container that is removed when it ends. Returns when the engine has noted that: nothing tells its exit code afterwards. */
function untilGone({ id, modem }: Docker.Container): Promise<Readable> {
  return new Promise((resolve, reject) => {
    const options = { _query: { condition: 'removed' }, _body: {} };
    const statusCodes = { 200: true, 404: 'no such container', 500: 'server error' };
    (modem as Modem).dial({ path: `/containers/${id}/wait?`, method: 'POST', options, statusCodes, isStream: true }, (error, answer) =>
      error ? reject(error) : resolve(answer as Readable),
    );
  });
}

interface Modem {
  dial(options: object, callback: (error: Error | null, answer: unknown) => void): void;
}

async function endOf(answer: Readable, stream: Bridge, action: string): Promise<void> {
  const { StatusCode } = await mapped(action, async () => (await json(answer)) as { StatusCode: number });
  if (StatusCode !== 0) throw failure('DOCKER_FAILED', { action, problem: `the copy ended with ${StatusCode}: ${stream.errorText.trim() || 'no message'}` });
}

async function createJob({ docker, image, installation, dataDirectory }: CopyJobOptions, { from, to, isBackup = false }: JobSpec): Promise<Docker.Container> {
  const places = [...(from ? [{ place: from, at: '/from' }] : []), ...(to ? [{ place: to, at: '/to' }] : [])];
  const containers = `${await dataDirectory()}/containers`;
  const memoryMb = isBackup ? BACKUP_MEMORY_MB : MEMORY_MB;
  const hasCheckpoint = places.some(({ place }) => 'checkpoint' in place);
  return docker.createContainer({
    name: `copy.${installation}-${randomBytes(6).toString('hex')}`,
    Image: image,
    Labels: { [LABEL.installation]: installation, [LABEL.role]: 'copy' },
    User: '0:0',
    Cmd: isBackup ? BRING_BACK_COMMAND : copyJobCommand(from && mounted(from, '/from'), to && targetOf(to, containers)),
    OpenStdin: from === undefined,
    StdinOnce: from === undefined,
    HostConfig: {
      // Also when the worker is killed: a container that has ended would keep the volumes in use.
      AutoRemove: true,
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      // Files of guests have several owners; files of a checkpoint belong to root.
      CapAdd: hasCheckpoint ? [] : ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', ...(isBackup ? ['SETUID', 'SETGID'] : [])],
      SecurityOpt: [...SECURITY_OPTIONS],
      PidsLimit: 64,
      Memory: memoryMb * MEBIBYTE,
      MemorySwap: memoryMb * MEBIBYTE,
      // The output is the archive; the engine must not log it.
      LogConfig: { Type: 'none', Config: {} },
      Binds: places.flatMap(({ place, at }) =>
        'checkpoint' in place ? [`${containers}/${place.container}/checkpoints:${at}${at === '/from' ? ':ro' : ''}`] : [],
      ),
      Mounts: places.flatMap(({ place, at }) =>
        'volume' in place
          ? [
              {
                Type: 'volume' as const,
                Source: place.volume,
                Target: at,
                ReadOnly: at === '/from',
                VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
              },
            ]
          : [],
      ),
    },
  });
}

function targetOf(to: CopyPlace, containers: string): MountedTarget {
  const target = { ...mounted(to, '/to'), pages: pagesOf(to, containers) };
  return 'volume' in to && to.forAnother === true ? { ...target, kind: 'copy' } : target;
}

function mounted(place: CopyPlace, at: string): MountedPlace {
  return 'checkpoint' in place ? { kind: 'checkpoint', path: `${at}/${place.checkpoint}` } : { kind: 'volume', path: at };
}

/** The path of a checkpoint's pages as the engine sees it. */
function pagesOf(place: CopyPlace, containers: string): string {
  return 'checkpoint' in place ? `${containers}/${place.container}/checkpoints/${place.checkpoint}${PAGES}/pages.img` : '';
}

function describe(place: CopyPlace): string {
  return 'checkpoint' in place ? `checkpoint ${place.checkpoint} of container ${place.container.slice(0, 12)}` : `volume ${place.volume}`;
}
