import { checkNamespace } from '../../client/temporal/own-namespace.ts';
import { createTemporalLink } from '../../client/temporal/temporal.ts';
import { readEncryptionKeys } from '../../platform/encryption-keys.ts';
import { createLogger } from '../../platform/log.ts';
import { loginName } from '../../platform/login-name.ts';
import { eraseUser, schedulesOf, type Erased, type UserOfTenant } from '../../worker/removal/erase-user.ts';
import { createHistories } from '../../worker/removal/histories.ts';
import { pluginFilesOf } from '../../plugins/dialects/shared/python/files-of-tenant.ts';
import { confirmed } from '../output/confirmed.ts';
import { EXIT, printFact, printLine, type Cli } from '../output/cli.ts';
import { tellPluginFiles } from './erase-plugin-files.ts';
import type { Desk } from '../sandbox/with-sandboxes.ts';

const CLOSE_MS = 120_000;
const REMAINS =
  'What remains: sums of what the model calls used and cost, without the user, rows of the audit log with the ids of the conversations and schedules, and of the user where the user has acted or answered by name, sandboxes that were opened without a conversation or taken over by one of another user, what the conversations have written into the memory of the tenant or an agent, without the user, what plugins keep for a whole tenant, in values and in files, or elsewhere, and copies in backups and logs.';

export async function erase(cli: Cli, { config, store, sandboxes }: Desk, user: UserOfTenant, yes: boolean): Promise<void> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = config;
  const keys = readEncryptionKeys(config.LONGSHORE_ENCRYPTION_KEYS);
  const link = createTemporalLink({ address, namespace, keys, check: (parts) => checkNamespace(store.temporalHome, parts) });
  await using longshore = await cli.connect();
  try {
    const client = await link.client();
    const { conversations, open, entries } = await store.removal.userData(user.tenantId, user.userId);
    const memory = await store.memory.list({ tenantId: user.tenantId, scope: 'user', owner: user.userId });
    const schedules = await schedulesOf({ longshore }, user);
    printFact(
      cli,
      `User "${user.userId}" of tenant "${user.tenantId}": ${summary({ conversations, schedules: schedules.length, entries, memory: memory.length })}; ${open} open, closed first.`,
    );
    if (!yes && !(await confirmed(cli, 'erase', 'Remove all of it for good?'))) {
      printLine(cli, 'Nothing was removed.');
      cli.exitCode = EXIT.failed;
      return;
    }
    const log = createLogger({ LONGSHORE_LOG_LEVEL: 'error' });
    const by = { actor: { kind: 'login' as const, id: loginName() ?? 'unknown' } };
    const parts = { store, sandboxes, workflows: client.workflow, histories: createHistories(client, namespace), longshore, log, by, closeMs: CLOSE_MS };
    tell(cli, await eraseUser(parts, user));
    tellPluginFiles(cli, user.tenantId, pluginFilesOf(await store.sandboxes.list({}), user.tenantId));
  } finally {
    await link.close();
  }
}

function tell(cli: Cli, { left, histories, ...removed }: Erased): void {
  printFact(cli, `Removed: ${summary(removed)}.`);
  const why = {
    open: 'it did not close: start a worker',
    elsewhere: 'its sandbox is on another host, whose worker removes both within minutes',
  };
  for (const one of left) printFact(cli, `${one.conversationId} is left: ${why[one.why]}. Then run this again.`);
  for (const id of histories) printFact(cli, `Temporal still lists ${id}: it was asked to remove it, and has not done so yet.`);
  if (left.length > 0) cli.exitCode = EXIT.failed;
  printLine(cli, REMAINS);
}

function summary({ conversations, schedules, entries, memory }: Omit<Erased, 'left' | 'histories'>): string {
  return `${conversations} conversations, ${schedules} schedules, ${entries} values of plugins, ${memory} files of memory`;
}
