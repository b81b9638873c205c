import type { SandboxOptions } from '../../../../contracts/agent.ts';
import type { SandboxRow } from '../../../../store/sandbox-rows.ts';
import { ownSandboxIdOf } from './own-sandboxes.ts';

/** The sandbox in which a plugin keeps files for a whole tenant: for all of its users together. */
export interface PluginFiles {
  pluginId: string;
  sandboxId: string;
  hostId: string;
}

/** @param rows sandboxes, also of other kinds */
export function pluginFilesOf(rows: SandboxRow[], tenantId: string): PluginFiles[] {
  return rows.flatMap(({ sandboxId, hostId, state, options, ...row }) => {
    const { plugin } = ((options as SandboxOptions).metadata ?? {}) as { plugin?: unknown };
    const isOne = row.tenantId === tenantId && state !== 'destroyed' && typeof plugin === 'string' && sandboxId === ownSandboxIdOf(plugin, tenantId);
    return isOne ? [{ pluginId: plugin, sandboxId, hostId }] : [];
  });
}
