import { runCommand } from '../../../src/platform/run-command.ts';
import { ownSandboxIdOf } from '../../../src/plugins/dialects/shared/python/own-sandboxes.ts';
import type { Installation } from '../support.ts';

/** Runs a command in the container of a tenant's plugin in Python, past all of this project. Gives what it printed. */
export async function withinPlugin({ store }: Installation, pluginId: string, tenant: string, command: string): Promise<string> {
  const row = await store.sandboxes.get(ownSandboxIdOf(pluginId, tenant));
  return (await runCommand('docker', ['exec', '--user', 'user', row?.containerName ?? '', 'bash', '-c', command])).stdout;
}
