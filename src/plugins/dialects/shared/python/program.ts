import { failure } from '../../../../contracts/errors.ts';
import type { JsonObject } from '../../../../contracts/json.ts';
import type { SandboxServer } from '../../../../sandbox/api/host-methods.ts';
import type { WorkerHandle } from '../../../../sandbox/api/sandbox.ts';
import { digestOf, type Layer } from './layers.ts';

/** All that a plugin runs from. */
export interface Program {
  pluginId: string;
  /** Code, packages and host, in this order. */
  layers: [code: Layer, packages: Layer, host: Layer];
  /** The file in `host` that is run. */
  entry: string;
}

/** Below the home of a sandbox. */
const PLACE = '.longshore-plugin';

/**
 * The server that runs the plugin. Its name says what it is made of: another version is another server, beside this one, and so is another configuration, unless
 * that comes with each request.
 */
export function programOf({ pluginId, layers, entry }: Program, config?: JsonObject, { describe = false } = {}): SandboxServer {
  const [code, packages, host] = layers.map(({ name }) => `${PLACE}/${name}`);
  const settings = config && JSON.stringify(config);
  const name = `plugin-${digestOf(JSON.stringify([layers.map((layer) => layer.name), settings ?? null]))}`;
  // Unbuffered: what it prints is part of its log at once.
  const args = ['-u', `${host}/${entry}`, describe ? 'describe' : 'serve', name, pluginId, code ?? '', packages ?? ''];
  return { name, command: 'python3', args, env: settings === undefined ? {} : { LONGSHORE_PLUGIN_CONFIG: settings } };
}

/** Copies layers into a sandbox that does not have them. A copy that was cut off is not taken for a whole one. */
export async function upload(handle: WorkerHandle, layers: readonly Layer[]): Promise<void> {
  for (const { name, path } of layers) {
    const place = `${PLACE}/${name}`;
    if (await handle.fileExists(place)) continue;
    const beside = `${place}.${digestOf(`${process.pid} ${performance.now()}`)}.part`;
    const { failures, failed } = await handle.uploadDirectory(path, beside);
    const [first] = failures;
    if (first)
      throw failure('ASSETS_FAILED', { from: path, to: place, problem: `${failed} could not be uploaded, the first is ${first.path}, which ${first.problem}` });
    // Another worker may have been first.
    await handle.rename(beside, place).catch(async (error: unknown) => {
      if (!(await handle.fileExists(place))) throw error;
    });
  }
}
