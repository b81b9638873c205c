import type { ContainerCreateOptions, HostConfig } from 'dockerode';

/** The engine has known this setting since API 1.41; the type package does not. */
type FullHostConfig = HostConfig & { CgroupnsMode: 'private' };

/** Everything about a sandbox's container that may differ from one to the next. */
export interface ContainerSpec {
  name: string;
  image: string;
  volumeName: string;
  labels: Record<string, string>;
  memoryMb: number;
  cpus: number;
  pids: number;
  readOnlyRoot: boolean;
}

const MEBIBYTE = 1024 * 1024;
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
    Hostname: 'sandbox',
    User: '0:0',
    Tty: false,
    OpenStdin: false,
    Labels: { ...spec.labels },
    StopTimeout: 2,
    HostConfig: hostConfig(spec),
  };
}

function hostConfig(spec: ContainerSpec): FullHostConfig {
  const memory = Math.round(spec.memoryMb * MEBIBYTE);
  return {
    Privileged: false,
    CapDrop: ['ALL'],
    CapAdd: [...SUPERVISOR_CAPABILITIES],
    SecurityOpt: ['no-new-privileges:true'],
    ReadonlyRootfs: spec.readOnlyRoot,
    NetworkMode: 'none',
    IpcMode: 'private',
    CgroupnsMode: 'private',
    // The engine's tiny init reaps what the supervisor does not and passes TERM on to it.
    Init: true,
    PidsLimit: spec.pids,
    Memory: memory,
    MemorySwap: memory,
    NanoCpus: Math.round(spec.cpus * 1e9),
    OomScoreAdj: 500,
    Ulimits: [
      { Name: 'nofile', Soft: 4096, Hard: 8192 },
      { Name: 'core', Soft: 0, Hard: 0 },
    ],
    // Build tools run what they have just written into /tmp, so it may hold programs.
    Tmpfs: { '/tmp': 'rw,exec,nosuid,nodev,size=256m,mode=1777', '/run': 'rw,noexec,nosuid,nodev,size=16m,mode=755' },
    // The engine makes the volume on first use and fills it from the image's /home.
    Mounts: [
      {
        Type: 'volume',
        Source: spec.volumeName,
        Target: '/home',
        VolumeOptions: { NoCopy: false, Labels: { ...spec.labels }, DriverConfig: { Name: 'local', Options: {} } },
      },
    ],
    LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } },
    RestartPolicy: { Name: 'no' },
  };
}
