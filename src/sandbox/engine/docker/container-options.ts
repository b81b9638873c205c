import type { ContainerSpec } from '../engine.ts';
import type { ContainerCreateOptions, HostConfig } from 'dockerode';
import { SECURITY_OPTIONS } from './seccomp/profile.ts';
import { volumeOptions } from './volumes.ts';

/** The engine has known this setting since API 1.41; the type package does not. */
type FullHostConfig = HostConfig & { CgroupnsMode: 'private' };

const HOSTNAME = 'sandbox';
/** gVisor's own threads count among a container's processes. It ends with all that runs in it when it can have no more of them. */
const GVISOR_THREADS = 128;
/** Threads of the host that gVisor holds for one process of the sandbox: its stub and the threads that enter it. */
const GVISOR_THREADS_PER_PROCESS = 4;
/** The kernel refuses a higher limit. */
const MOST_PROCESSES = 4_194_304;
const MEBIBYTE = 1024 * 1024;
const MOST_TEMPORARY_MB = 256;
/** The first stream to the supervisor; it ends with whoever attached. Not for gVisor: what is put to disk should hold no stream. */
const ATTACHED = { OpenStdin: true, StdinOnce: true };
/** What the supervisor, root in the container, needs to start guests as another user and to end them; guests have none of it. */
const SUPERVISOR_CAPABILITIES = ['SETUID', 'SETGID', 'KILL', 'CHOWN'];

/**
 * The whole definition of a sandbox's container. Built from a list of allowed settings, never by merging objects:
 * nothing that a user or a model gives can add a mount, a device, a network or a privilege.
 */
export function containerOptions(spec: ContainerSpec): ContainerCreateOptions {
  return {
    name: spec.name,
    Image: spec.image,
    // Who joins another's namespace has its host name too.
    ...(spec.runtime.name === 'runc' && { Hostname: HOSTNAME }),
    User: '0:0',
    Tty: false,
    ...(spec.runtime.name === 'runc' ? ATTACHED : { OpenStdin: false }),
    Labels: { ...spec.labels },
    StopTimeout: 2,
    HostConfig: hostConfig(spec),
  };
}

/** A container that does next to nothing: it holds the network namespace of others, or is a host's first try at gVisor. */
export function helperOptions(spec: Pick<ContainerSpec, 'name' | 'image' | 'labels' | 'runtime'>): ContainerCreateOptions {
  const { name, image, labels, runtime } = spec;
  const { Hostname, HostConfig } = containerOptions({ ...spec, volumeName: 'none', memoryMb: 128, cpus: 0.5, pids: 64, readOnlyRoot: true });
  const { Mounts: _mounts, CapAdd: _capabilities, ...fence } = HostConfig ?? {};
  return {
    name,
    Image: image,
    Labels: { ...labels },
    User: '65534:65534',
    Cmd: ['sleep', 'infinity'],
    StopTimeout: 1,
    HostConfig: fence,
    ...(runtime.name === 'runc' && { Hostname }),
  };
}

/** Files in `/tmp` count as the container's memory: filling it must leave room for the supervisor and for commands. */
function temporaryMb({ memoryMb }: ContainerSpec): number {
  return Math.min(MOST_TEMPORARY_MB, Math.floor(memoryMb / 4));
}

function hostConfig(spec: ContainerSpec): FullHostConfig {
  const memory = Math.round(spec.memoryMb * MEBIBYTE);
  return {
    Privileged: false,
    CapDrop: ['ALL'],
    CapAdd: [...SUPERVISOR_CAPABILITIES],
    SecurityOpt: [...SECURITY_OPTIONS],
    ReadonlyRootfs: spec.readOnlyRoot,
    Runtime: spec.runtime.name,
    NetworkMode: spec.runtime.name === 'runc' ? 'none' : `container:${spec.runtime.holder}`,
    IpcMode: 'private',
    CgroupnsMode: 'private',
    // The engine's tiny init reaps what the supervisor does not and passes TERM on to it.
    Init: true,
    PidsLimit: processLimit(spec),
    Memory: memory,
    MemorySwap: memory,
    NanoCpus: Math.round(spec.cpus * 1e9),
    OomScoreAdj: 500,
    Ulimits: [
      { Name: 'nofile', Soft: 4096, Hard: 8192 },
      { Name: 'core', Soft: 0, Hard: 0 },
      ...(spec.fileMb === undefined ? [] : [{ Name: 'fsize', Soft: spec.fileMb * MEBIBYTE, Hard: spec.fileMb * MEBIBYTE }]),
    ],
    // Build tools run what they have just written into /tmp, so it may hold programs.
    Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,size=${temporaryMb(spec)}m,mode=1777`, '/run': 'rw,noexec,nosuid,nodev,size=16m,mode=755' },
    // The engine makes the volume on first use and fills it from the image's /home.
    Mounts: [
      {
        Type: 'volume',
        Source: spec.volumeName,
        Target: '/home',
        VolumeOptions: { NoCopy: false, Labels: { ...spec.labels }, DriverConfig: { Name: 'local', Options: volumeOptions(spec.volumeMb) } },
      },
    ],
    // On stdout the supervisor speaks to whoever attached, which is not to be kept.
    LogConfig: spec.runtime.name === 'runc' ? { Type: 'none', Config: {} } : { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } },
    RestartPolicy: { Name: 'no' },
  };
}

function processLimit({ pids, runtime }: Pick<ContainerSpec, 'pids' | 'runtime'>): number {
  return runtime.name === 'runc' ? pids : Math.min(GVISOR_THREADS + pids * GVISOR_THREADS_PER_PROCESS, MOST_PROCESSES);
}
