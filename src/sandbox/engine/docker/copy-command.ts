import { readProgram } from '../../../platform/read-program.ts';

const PROGRAM = readProgram(import.meta.url, 'programs/copy-job.sh');

/** A place of a copy job as the job sees it. */
export interface MountedPlace {
  kind: 'volume' | 'checkpoint';
  path: string;
}

export interface MountedTarget extends Omit<MountedPlace, 'kind'> {
  /** `copy`: a volume for a sandbox that has the files of another one, and none of its processes. */
  kind: MountedPlace['kind'] | 'copy';
  /** The path of a checkpoint's pages as the engine sees it. */
  pages: string;
}

/** The command of a copy job. Without a target it packs the source to its stdout; without a source it unpacks its stdin to the target. */
export function copyJobCommand(from: MountedPlace | undefined, to: MountedTarget | undefined): string[] {
  const verb = from && to ? 'copy' : from ? 'pack' : 'unpack';
  return ['sh', '-c', PROGRAM, 'copy-job', verb, ...(from ? [from.kind, from.path] : []), ...(to ? [to.kind, to.path, to.pages] : [])];
}

/** Makes the home in the target of its stdin, as the user of sandboxes. The program is in the image, beside the one that has made the streams. */
export const BRING_BACK_COMMAND = [
  'python3',
  '-I',
  '-S',
  '-B',
  '-c',
  "import sys; sys.path.insert(0, '/opt/longshore'); from as_guest.checkpoints.bring_back import main; main('/to', (1000, 1000))",
];
