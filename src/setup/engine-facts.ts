import { engineInfo } from '../sandbox/engine/docker/reports.ts';

/** What the Docker engine reports about itself; `absent` when no engine answers. */
export type EngineReport =
  | { outcome: 'absent'; problem: string }
  | {
      outcome: 'present';
      version: string;
      operatingSystem: string;
      /** The version of its kernel; '' when it does not report it. */
      kernel: string;
      /** Names of OCI runtimes, such as `runc` and `runsc`. */
      runtimes: string[];
      /** The program that is registered as `runsc`; absent when there is none or the engine does not report it. */
      gvisorProgram?: string;
      /** Whether checkpoints are enabled. */
      experimental: boolean;
      cgroupVersion: string;
      storageDriver: string;
      backingFilesystem: string;
      /** Whether the engine can filter system calls. */
      seccomp: boolean;
    };

interface Info {
  ServerVersion?: string;
  OperatingSystem?: string;
  KernelVersion?: string;
  Runtimes?: Record<string, { path?: string }>;
  ExperimentalBuild?: boolean;
  CgroupVersion?: string;
  Driver?: string;
  DriverStatus?: [string, string][];
  SecurityOptions?: string[];
}

/** Asks the engine as workers do, without the docker command, which a container does not have. @param host as in `DOCKER_HOST` */
export async function inspectEngine(host: string | undefined): Promise<EngineReport> {
  try {
    return readEngineInfo(await engineInfo(host));
  } catch (error) {
    return { outcome: 'absent', problem: (error as Error).message };
  }
}

/** Reads what an engine says of itself. */
export function readEngineInfo(info: Info): EngineReport {
  const { ServerVersion = 'an unknown version', OperatingSystem = 'an unknown system', CgroupVersion = '', Driver = 'unknown' } = info;
  return {
    outcome: 'present',
    version: ServerVersion,
    operatingSystem: OperatingSystem,
    kernel: info.KernelVersion ?? '',
    ...readRuntimes(info),
    experimental: info.ExperimentalBuild === true,
    cgroupVersion: CgroupVersion,
    storageDriver: Driver,
    backingFilesystem: info.DriverStatus?.find(([key]) => key === 'Backing Filesystem')?.[1] ?? '',
    seccomp: (info.SecurityOptions ?? []).some((option) => option.split(',').includes('name=seccomp')),
  };
}

function readRuntimes({ Runtimes = {} }: Info): { runtimes: string[]; gvisorProgram?: string } {
  const gvisorProgram = Runtimes['runsc']?.path;
  // The engine lists containerd shims together with the runtimes.
  const runtimes = Object.keys(Runtimes).filter((name) => !name.startsWith('io.containerd.'));
  return { runtimes, ...(gvisorProgram !== undefined && { gvisorProgram }) };
}
