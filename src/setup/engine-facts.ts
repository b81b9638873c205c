import { runCommand } from '../platform/run-command.ts';

/** What the Docker engine reports about itself; `absent` when no engine answers. */
export type EngineReport =
  | { outcome: 'absent'; problem: string }
  | {
      outcome: 'present';
      version: string;
      operatingSystem: string;
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
  Runtimes?: Record<string, { path?: string }>;
  ExperimentalBuild?: boolean;
  CgroupVersion?: string;
  Driver?: string;
  DriverStatus?: [string, string][];
  SecurityOptions?: string[];
  ServerErrors?: string[];
}

/** Asks the engine that the docker command connects to. */
export async function inspectEngine(): Promise<EngineReport> {
  const outcome = await runCommand('docker', ['info', '--format', '{{json .}}'], { timeoutMs: 20_000 });
  if (outcome.code === 127) return { outcome: 'absent', problem: 'the docker command is not installed' };
  return readEngineInfo(outcome.stdout, outcome.stderr);
}

/** Parses the output of `docker info`; the command also succeeds when no engine answers. */
export function readEngineInfo(stdout: string, stderr: string): EngineReport {
  const info = parse(stdout);
  if (!info.ServerVersion) return { outcome: 'absent', problem: info.ServerErrors?.[0] ?? (stderr.trim() || 'no engine answers') };
  const { OperatingSystem = 'an unknown system', CgroupVersion = '', Driver = 'unknown' } = info;
  return {
    outcome: 'present',
    version: info.ServerVersion,
    operatingSystem: OperatingSystem,
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

function parse(stdout: string): Info {
  try {
    return JSON.parse(stdout) as Info;
  } catch {
    return {};
  }
}
