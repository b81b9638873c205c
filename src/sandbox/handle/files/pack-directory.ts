import { failure } from '../../../contracts/errors.ts';
import type { PackedDirectory } from '../../api/directory-archives.ts';
import type { WorkingConnection } from '../../protocol/supervisor-connection.ts';

/** A directory as a tar that is passed on at once, so that it cannot begin again. */
export async function packDirectory(connection: WorkingConnection, path: string, onData: (piece: Buffer) => Promise<void>): Promise<PackedDirectory> {
  const {
    files,
    bytes,
    failed,
    paths = [],
    problems = [],
  } = await connection.packDirectory(path, {
    onData,
    onRepeat() {
      throw failure('FILE_FAILED', { path, problem: 'the connection to the sandbox broke while it was read; try again' });
    },
  });
  return { files, bytes, failed, failures: paths.map((failedPath, index) => ({ path: failedPath, problem: problems[index] ?? '' })) };
}
