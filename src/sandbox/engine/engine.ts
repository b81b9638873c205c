import type { Duplex, Readable } from 'node:stream';

/** All properties of a container that differ between sandboxes. */
export interface ContainerSpec {
  name: string;
  image: string;
  volumeName: string;
  /** The limit of the volume's size that the storage enforces, in MB; absent when it cannot or there is no limit. */
  volumeMb?: number;
  /** The largest file that a process in the container may write, in MB; absent for no limit. */
  fileMb?: number;
  labels: Record<string, string>;
  memoryMb: number;
  cpus: number;
  pids: number;
  readOnlyRoot: boolean;
  /** `holder`: id of the container whose network namespace a gVisor container joins. It has no network. Current engines cannot restore without it. */
  runtime: { name: 'runc' } | { name: 'runsc'; holder: string };
}

export interface ContainerState {
  id: string;
  /** `hibernated`: it does not run and has a checkpoint. `ended`: it has run, does not run now, and has no checkpoint. */
  status: 'created' | 'running' | 'paused' | 'hibernated' | 'ended';
  /** The newest checkpoint of a hibernated container. */
  checkpoint?: string;
  /** Absent when the engine does not know it. */
  exitCode?: number;
  outOfMemory: boolean;
  labels: Record<string, string>;
  runtime: 'runc' | 'runsc';
  /** Id of the container whose network namespace it joins. */
  holder?: string;
  /** Number of commands that the engine runs in it with `docker exec`: bridges. */
  execs: number;
}
export interface OwnedThing {
  name: string;
  /** Id of a container; absent for a volume. */
  id?: string;
  sandboxId: string;
  /** As in its labels; 0 without one. */
  fence: number;
  /** Set for a volume that belongs to a snapshot. */
  snapshotId?: string;
  isRunning?: boolean;
  /** Whether it joins the network namespace of another. */
  joins?: boolean;
  /** Set when it does not belong to a sandbox, or was made by a copy. */
  role?: string;
  createdAtMs: number;
}

/** A container that a call has made or found. */
export interface Created {
  id: string;
  /** Whether this call made it, which is true for one caller only. */
  isNew: boolean;
  /** The first stream to its supervisor. */
  stream?: Duplex;
}

/**
 * What Longshore needs from a container engine: what every engine can do, and what only some can, in parts that are absent otherwise. All methods are
 * idempotent: a state that exists already is success. Errors are those of the table.
 */
export interface Engine {
  /** The name of the backend that uses it, for errors. */
  backend: string;
  gvisor?: Gvisor;
  checkpoints?: Checkpoints;
  copies?: Copies;
  /** Makes the container, or finds the one that an earlier attempt made. Returns its id. */
  create(spec: ContainerSpec): Promise<string>;
  /**
   * The same, and opens the first stream to the supervisor before the container starts. The supervisor answers on it once it runs. Only the caller that made
   * the container gets the stream, because two callers cannot share it.
   */
  createAttached(spec: ContainerSpec): Promise<Created>;
  inspect(container: string): Promise<ContainerState | undefined>;
  /** Returns false when the container does not exist. So do `pause` and `unpause`, which also return false when the container does not run. */
  start(container: string): Promise<boolean>;
  pause(container: string): Promise<boolean>;
  unpause(container: string): Promise<boolean>;
  /** Sends TERM, then KILL after two seconds. Succeeds when the container has ended or does not exist. */
  stop(container: string): Promise<void>;
  removeContainer(container: string): Promise<void>;
  /** Whether the storage can limit the size of volumes. */
  hasQuotas(): Promise<boolean>;
  volumeExists(volume: string): Promise<boolean>;
  /** False when a container uses it. */
  removeVolume(volume: string): Promise<boolean>;
  /**
   * A new byte stream to the supervisor of a running container, as soon as its program has been started there; undefined when the container does not run. It may
   * break at any time, also before it is used: then it is `destroyed`, and `errored` says why.
   */
  openBridge(container: string): Promise<Duplex | undefined>;
  containersOf(installation: string): Promise<OwnedThing[]>;
  volumesOf(installation: string): Promise<OwnedThing[]>;
  /** Undefined when the image does not exist. */
  imageId(image: string): Promise<string | undefined>;
  /** Name of the newest image of a template. */
  newestTemplateImage(template: string): Promise<string | undefined>;
  processorCount(): Promise<number>;
  facts(): Promise<EngineFacts>;
  /** The disk with its data; undefined where this process does not see it. */
  disk?(): Promise<DiskSpace | undefined>;
  /** Undefined when the container does not run, or the engine cannot measure it. */
  usage(container: string): Promise<ContainerUsage | undefined>;
  /** Bytes by name of volume, without volumes whose size is not known. */
  volumeSizes(installation: string): Promise<Map<string, number>>;
}

/** Containers in gVisor. An engine that has this part may still lack the runtime `runsc`. */
export interface Gvisor {
  /** Makes a container that is not a sandbox, such as one whose network namespace sandboxes join. Or finds it. Returns its id. */
  createHelper(spec: HelperSpec): Promise<string>;
  /** Undefined when the engine has no runtime `runsc`, or does not report its program. */
  program(): Promise<GvisorProgram | undefined>;
}

/** Containers that are written to disk with their processes, and continue later. */
export interface Checkpoints {
  /** Writes a running or paused container to disk. Then it ends (the default) or continues. Takes seconds when it has much memory. */
  make(container: string, name: string, then?: 'end' | 'go-on'): Promise<void>;
  /** Starts an ended container from a checkpoint. The checkpoint is not removed. */
  restore(container: string, name: string): Promise<void>;
  /** Names of Longshore's checkpoints, the newest first. */
  list(container: string): Promise<string[]>;
  remove(container: string, name: string): Promise<void>;
  /** Removes memory pages that belong to no checkpoint of the container any more. */
  removeLoosePages(container: string): Promise<void>;
  /** Ends all bridges to the container's supervisor, also those of other workers. They prevent a checkpoint. */
  endBridges(container: string): Promise<void>;
  /** Removes a container that does not run, so that another can take its place; false when it runs. */
  removeEnded(container: string): Promise<boolean>;
  rename(container: string, name: string): Promise<void>;
}

/** Copies of volumes and checkpoints. */
export interface Copies {
  /** Succeeds when the volume exists. */
  createVolume(volume: string, labels: Record<string, string>, limitMb?: number): Promise<void>;
  /** They run in containers of an installation. */
  jobs(installation: string, image: string): CopyJobs;
}

export interface EngineFacts {
  /** Id of the engine, not of the machine. */
  id: string;
  runtimes: string[];
  dataDirectory: string;
  /** Of the machine; absent where the engine does not say it. */
  memoryBytes?: number;
  cpus?: number;
  /** Whether the engine can filter system calls. */
  seccomp: boolean;
}
/** What a file system has. */
export interface DiskSpace {
  freeBytes: number;
  totalBytes: number;
}
export type HelperSpec = Pick<ContainerSpec, 'name' | 'image' | 'labels' | 'runtime'>;

/**
 * A place on the engine's machine: a whole volume, or one checkpoint of a container (by its full id). `forAnother`: it gets the files of one sandbox for another
 * one, which has none of the processes and does not count them as its own that ended.
 */
export type CopyPlace = { volume: string; forAnother?: boolean } | { container: string; checkpoint: string };

export interface CopyJobs {
  /** Copies all files between two places, unchanged. The bytes do not leave the engine. */
  copy(from: CopyPlace, to: CopyPlace): Promise<void>;
  /** A gzipped tar stream of a place. It ends when all is packed, and fails otherwise. When the reader stops early, the job is ended. */
  pack(from: CopyPlace): Readable;
  /** Unpacks such a stream. */
  unpack(content: Readable, to: CopyPlace): Promise<void>;
  /** Makes the home in a new volume of the streams of a backup, each gzipped, one after the other. */
  bringBack(content: Readable, to: CopyPlace): Promise<void>;
}

export interface ContainerUsage {
  /** Processor time since the container was started, in milliseconds of one processor. */
  cpuMs: number;
  /** Without the inactive file cache, which the kernel can free. */
  memoryBytes: number;
  /** Threads count as well. */
  processes: number;
}

/** The program that an engine starts as the runtime `runsc`. */
export interface GvisorProgram {
  path: string;
  /** Absent when the program is on another machine or does not report it. */
  version?: string;
  /** Whether it is the script that `longshore setup --gvisor` registers. */
  isOurs: boolean;
}
