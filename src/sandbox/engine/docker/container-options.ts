import type { ContainerSpec } from '../engine.ts';
import type { ContainerCreateOptions, HostConfig } from 'dockerode';
import { SECURITY_OPTIONS } from './seccomp/profile.ts';
import { volumeOptions } from './volumes.ts';

/** The engine knows this setting since API 1.41; the type package does not have it. */
type FullHostConfig = HostConfig & { CgroupnsMode: 'private' };

const HOSTNAME = 'sandbox';
/** gVisor's own threads count as processes of the container. When gVisor cannot start another thread, it ends with all processes of the sandbox. */
const GVISOR_THREADS = 128;
/** Threads of the host that gVisor uses for one process of the sandbox: its stub and the threads that enter it. */
const GVISOR_THREADS_PER_PROCESS = 4;
/** The kernel refuses a higher limit. */
const MOST_PROCESSES = 4_194_304;
const MEBIBYTE = 1024 * 1024;
const MOST_TEMPORARY_MB = 256;
/** The first stream to the supervisor; it ends with the process that attached. Not for gVisor: a container that is checkpointed should have no stream. */
const ATTACHED = { OpenStdin: true, StdinOnce: true };
/** The supervisor, root in the container, needs these to start processes of guests as another user and to end them. Guests have none of them. */
const SUPERVISOR_CAPABILITIES = ['SETUID', 'SETGID', 'KILL', 'CHOWN'];

/**
 * The whole definition of a sandbox's container. It is built from a list of allowed settings, never by merging objects:
 * a value from a user or a model cannot add a mount, a device, a network or a privilege.
 */
export function containerOptions(spec: ContainerSpec): ContainerCreateOptions {
  return {
    name: spec.name,
    Image: spec.image,
    // A container that joins the namespace of another also has its host name.
    ...(spec.runtime.name === 'runc' && { Hostname: HOSTNAME }),
    User: '0:0',
    Tty: false,
    ...(spec.runtime.name === 'runc' ? ATTACHED : { OpenStdin: false }),
    Labels: { ...spec.labels },
    StopTimeout: 2,
    HostConfig: hostConfig(spec),
  };
}

/** A container that only sleeps: it holds the network namespace of others, or probes whether gVisor works on a host. */
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

/** Files in `/tmp` count as memory of the container: a full `/tmp` must leave memory for the supervisor and for commands. */
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
    // The engine's init process reaps the processes that the supervisor does not reap, and forwards TERM to the supervisor.
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
    // Executable, because build tools run programs that they have written into /tmp.
    Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,size=${temporaryMb(spec)}m,mode=1777`, '/run': 'rw,noexec,nosuid,nodev,size=16m,mode=755' },
    // The engine makes the volume on first use and copies the image's /home into it.
    Mounts: [
      {
        Type: 'volume',
        Source: spec.volumeName,
        Target: '/home',
        VolumeOptions: { NoCopy: false, Labels: { ...spec.labels }, DriverConfig: { Name: 'local', Options: volumeOptions(spec.volumeMb) } },
      },
    ],
    // With runc, stdout carries the protocol between the supervisor and the attached process, which must not be logged.
    LogConfig: spec.runtime.name === 'runc' ? { Type: 'none', Config: {} } : { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } },
    RestartPolicy: { Name: 'no' },
  };
}

function processLimit({ pids, runtime }: Pick<ContainerSpec, 'pids' | 'runtime'>): number {
  return runtime.name === 'runc' ? pids : Math.min(GVISOR_THREADS + pids * GVISOR_THREADS_PER_PROCESS, MOST_PROCESSES);
}
