import { shellWord } from '../../common/shell-quoted.ts';
import { isFailure } from '../../contracts/errors.ts';
import { loginName } from '../../platform/login-name.ts';
import { pluginFilesOf, type PluginFiles } from '../../plugins/dialects/shared/python/files-of-tenant.ts';
import { confirmed } from '../output/confirmed.ts';
import { EXIT, printFact, printLine, type Cli } from '../output/cli.ts';
import type { Desk } from '../sandbox/with-sandboxes.ts';

/** Removes the files that plugins keep for a tenant. A plugin that is called afterwards begins without files. */
export async function erasePluginFiles(cli: Cli, { config, store, sandboxes }: Desk, tenantId: string, yes: boolean): Promise<void> {
  const found = pluginFilesOf(await store.sandboxes.list({}), tenantId);
  if (found.length === 0) return printFact(cli, `No plugin keeps files for tenant "${tenantId}".`);
  for (const { pluginId, sandboxId } of found) printFact(cli, `Plugin ${pluginId} keeps files for tenant "${tenantId}" in ${sandboxId}.`);
  if (!yes && !(await confirmed(cli, 'erase', 'Remove them for good, for all users of the tenant?'))) {
    printLine(cli, 'Nothing was removed.');
    cli.exitCode = EXIT.failed;
    return;
  }
  const actor = { kind: 'login' as const, id: loginName() ?? 'unknown' };
  for (const { pluginId, sandboxId, hostId } of found) {
    if (hostId !== config.LONGSHORE_HOST_ID) {
      printFact(cli, `${sandboxId} is left: it is on host ${hostId}. Run this there.`);
      cli.exitCode = EXIT.failed;
      continue;
    }
    await store.audit.add({ actor, action: 'plugin.erase', target: pluginId, tenantId });
    await sandboxes.destroy(sandboxId).catch((error: unknown) => {
      if (!isFailure(error, 'SANDBOX_DESTROYED') && !isFailure(error, 'SANDBOX_NOT_FOUND')) throw error;
    });
    printFact(cli, `Removed the files of plugin ${pluginId}.`);
  }
}

/** What the erasure of a user has not looked into. */
export function tellPluginFiles(cli: Cli, tenantId: string, found: PluginFiles[]): void {
  for (const { pluginId, sandboxId } of found) {
    printFact(cli, `Not looked into: the files of plugin ${pluginId} for the whole tenant, in ${sandboxId}. They may have data of the user.`);
  }
  if (found.length > 0) printFact(cli, `To remove these files, for all users of the tenant: longshore erase --tenant ${shellWord(tenantId)} --plugin-files`);
}
