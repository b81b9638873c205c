import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { SandboxAsset } from '../../contracts/agent.ts';
import { failure, isFailure } from '../../contracts/errors.ts';
import type { SandboxHandle } from './sandbox.ts';

/** A file of the sandbox, so that it disappears together with the assets. */
const MARKER = '.longshore-assets';

/**
 * Uploads the assets unless this sandbox has them: once after it was created, and again after it was rebuilt without its files.
 * @throws ASSETS_FAILED when an asset is missing or could not be uploaded completely. The next attempt uploads all assets again.
 */
export async function uploadAssets(handle: SandboxHandle, assets: SandboxAsset[]): Promise<void> {
  const digest = createHash('sha256').update(JSON.stringify(assets)).digest('hex');
  if ((await readMarker(handle)) === digest) return;
  for (const asset of assets) await upload(handle, asset);
  await handle.writeFile(MARKER, digest);
}

async function readMarker(handle: SandboxHandle): Promise<string | undefined> {
  try {
    return await handle.readFile(MARKER, { encoding: 'utf-8', maxBytes: 1000 });
  } catch (error) {
    if (isFailure(error, 'FILE_NOT_FOUND') || isFailure(error, 'FILE_FAILED')) return undefined;
    throw error;
  }
}

async function upload(handle: SandboxHandle, { from, to }: SandboxAsset): Promise<void> {
  const facts = await stat(from).catch(() => undefined);
  if (!facts) throw failure('ASSETS_FAILED', { from, to, problem: 'there is no such file or directory on this worker' });
  if (!facts.isDirectory()) return handle.uploadFile(from, to);
  const { failures, failed } = await handle.uploadDirectory(from, to);
  const [first] = failures;
  if (first) throw failure('ASSETS_FAILED', { from, to, problem: `${failed} could not be uploaded, the first is ${first.path}, which ${first.problem}` });
  return undefined;
}
