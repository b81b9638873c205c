import type { Duplex, Readable } from 'node:stream';

/** Everything about a sandbox's container that may differ from one to the next. */
export interface ContainerSpec {
  name: string;
  image: string;
  volumeName: string;
  /** What the storage keeps the volume to, in MB; absent where it cannot or need not. */
  volumeMb?: number;
  /** The largest file that anything in the container may write, in MB; absent for no limit. */
  fileMb?: number;
  labels: Record<string, string>;
  memoryMb: number;
  cpus: number;
  pids: number;
  readOnlyRoot: boolean;
  /** `holder`: id of the container whose network namespace, which has no network, a gVisor container joins. Without one no engine of today restores it. */
  runtime: { name: 'runc' } | { name: 'runsc'; holder: string };
}

export interface ContainerState {
  id: string;
  /** `hibernated`: it does not run and has a checkpoint. `ended` covers everything else that has run and runs no more. */
  status: 'created' | 'running' | 'paused' | 'hibernated' | 'ended';
  /** The newest checkpoint of a hibernated container. */
  checkpoint?: string;
  /** Absent where nobody saw its end. */
  exitCode?: number;
  outOfMemory: boolean;
  labels: Record<string, string>;
  runtime: 'runc' | 'runsc';
  /** Id of the container whose network namespace it joins. */
  holder?: string;
  /** Commands that the engine itself runs in it: bridges. */
  execs: number;
}
export interface OwnedThing {
  name: string;
  /** Of a container. */
  id?: string;
  sandboxId: string;
  /** Of a volume that belongs to a snapshot. */
  snapshotId?: string;
  isRunning?: boolean;
  /** Whether it joins the network namespace of another. */
  joins?: boolean;
  /** Of what is no sandbox, or was made by a copy. */
  role?: string;
  createdAtMs: number;
}

/** What Longshore asks of a Docker engine. All methods may be repeated: a state that is there already is success. Errors are of the table. */
export interface Engine {
  /** Makes the container, or takes over the one that an earlier attempt made. Returns its id. */
  create(spec: ContainerSpec): Promise<string>;
  /**
   * The same for one that is about to be started, with the first stream to its supervisor, which is answered once it runs. Only who has made the container
   * gets that stream: two could not share it.
   */
  createAttached(spec: ContainerSpec): Promise<{ id: string; stream?: Duplex }>;
  /** The same for a container of one of our other purposes. */
  createHelper(spec: HelperSpec): Promise<string>;
  inspect(container: string): Promise<ContainerState | undefined>;
  /** These three return false when the container is not there or has ended. */
  start(container: string): Promise<boolean>;
  pause(container: string): Promise<boolean>;
  unpause(container: string): Promise<boolean>;
  /** TERM, then KILL after two seconds; done when it has ended or is not there. */
  stop(container: string): Promise<void>;
  removeContainer(container: string): Promise<void>;
  /** Removes a container unless it runs; false when it does. */
  removeEnded(container: string): Promise<boolean>;
  rename(container: string, name: string): Promise<void>;
  /** Puts a running or paused container to disk; it ends by that, or goes on as it was. Takes seconds where there is much memory. */
  checkpoint(container: string, name: string, then?: 'end' | 'go-on'): Promise<void>;
  /** Starts an ended container from a checkpoint, which stays. */
  restore(container: string, name: string): Promise<void>;
  /** Names of our checkpoints, the newest first. */
  checkpointsOf(container: string): Promise<string[]>;
  removeCheckpoint(container: string, name: string): Promise<void>;
  /** Removes memory that no checkpoint of the container needs any more. */
  removeLoosePages(container: string): Promise<void>;
  /** Copies of volumes and checkpoints, made by containers of an installation. */
  copyJobs(installation: string, image: string): CopyJobs;
  /** Ends all bridges to the container's supervisor, of other workers too. */
  endBridges(container: string): Promise<void>;
  /** Done as well when it is there. */
  createVolume(volume: string, labels: Record<string, string>, limitMb?: number): Promise<void>;
  /** Whether its storage keeps volumes to a size. */
  hasQuotas(): Promise<boolean>;
  volumeExists(volume: string): Promise<boolean>;
  /** False when a container uses it. */
  removeVolume(volume: string): Promise<boolean>;
  /** A fresh byte stream to the supervisor of a running container; undefined when the container does not run. */
  openBridge(container: string): Promise<Duplex | undefined>;
  containersOf(installation: string): Promise<OwnedThing[]>;
  volumesOf(installation: string): Promise<OwnedThing[]>;
  /** Undefined when there is no such image. */
  imageId(image: string): Promise<string | undefined>;
  /** Name of the image of a template that was made last. */
  newestTemplateImage(template: string): Promise<string | undefined>;
  processorCount(): Promise<number>;
  facts(): Promise<EngineFacts>;
  /** Undefined when it has no runtime `runsc`, or does not tell which program that is. */
  gvisorProgram(): Promise<GvisorProgram | undefined>;
  /** Undefined when the container does not run, or the engine cannot tell. */
  usage(container: string): Promise<ContainerUsage | undefined>;
  /** Bytes by the names of volumes; one whose size is not known is left out. */
  volumeSizes(installation: string): Promise<Map<string, number>>;
}

export interface EngineFacts {
  /** Of the engine, not of the machine. */
  id: string;
  runtimes: string[];
  dataDirectory: string;
  /** Whether it filters system calls. */
  seccomp: boolean;
}
export type HelperSpec = Pick<ContainerSpec, 'name' | 'image' | 'labels' | 'runtime'>;

/** Where bytes are on the engine's machine: a whole volume, or one checkpoint of a container (by its full id). */
export type Place = { volume: string } | { container: string; checkpoint: string };

export interface CopyJobs {
  /** Copies everything between two places, as it is; the bytes never leave the engine. */
  copy(from: Place, to: Place): Promise<void>;
  /** A gzipped tar stream of a place. It ends only when all is packed, and fails otherwise; whoever stops reading ends the job. */
  pack(from: Place): Readable;
  /** Unpacks such a stream. */
  unpack(content: Readable, to: Place): Promise<void>;
}

export interface ContainerUsage {
  /** Since it was started, in milliseconds of one processor. */
  cpuMs: number;
  /** Without what the kernel only keeps because there is room. */
  memoryBytes: number;
  /** Threads count as well. */
  processes: number;
}

/** The program that an engine starts as the runtime `runsc`. */
export interface GvisorProgram {
  path: string;
  /** Absent where it cannot be asked, as on another machine, or does not know. */
  version?: string;
  /** Whether it is the one that `longshore setup --gvisor` registers. */
  isOurs: boolean;
}
