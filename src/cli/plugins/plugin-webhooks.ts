import type { Longshore } from '../../client.ts';
import { withoutUndefined } from '../../common/without-undefined.ts';
import { failure } from '../../contracts/errors.ts';
import { printFact, printJson, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';

export interface WebhookOptions {
  add?: string;
  tenant?: string;
  remove?: string;
  json?: boolean;
}

/** Lists the addresses at which outside systems reach the functions of a plugin, makes one, or ends one. */
export async function pluginWebhooks(cli: Cli, longshore: Longshore, plugin: string, { add, tenant, remove, json = false }: WebhookOptions): Promise<void> {
  if (add !== undefined && remove !== undefined) {
    throw failure('INVALID_ARGUMENT', { what: '--remove', problem: 'it cannot be combined with --add', fix: 'Give one of the two' });
  }
  if (tenant !== undefined && add === undefined) {
    throw failure('INVALID_ARGUMENT', { what: '--tenant', problem: 'it belongs to --add', fix: 'Give --add <endpoint>, or leave it out' });
  }
  if (add !== undefined) return addWebhook(cli, longshore, plugin, { endpoint: add, tenant, json });
  if (remove === undefined) return listWebhooks(cli, longshore, plugin, json);
  await longshore.plugins.removeWebhook(plugin, remove);
  if (json) printJson(cli, { removed: remove });
  else printFact(cli, `${remove} has ended; requests to its address are refused.`);
}

async function addWebhook(
  cli: Cli,
  { plugins }: Longshore,
  plugin: string,
  { endpoint, tenant, json }: { endpoint: string; tenant: string | undefined; json: boolean },
): Promise<void> {
  const made = await plugins.addWebhook(plugin, withoutUndefined({ endpoint, tenant }));
  const service = cli.config().LONGSHORE_PUBLIC_URL?.replace(/\/+$/, '');
  const url = service === undefined ? undefined : service + made.path;
  if (json) return printJson(cli, { ...made, ...(url !== undefined && { url }) });
  printFact(cli, `${made.webhookId}: requests to this address reach ${JSON.stringify(endpoint)} of ${made.plugin}, for the tenant ${made.tenantId}:`);
  printFact(cli, url ?? `<the address of your service>${made.path}`);
  printFact(cli, 'It is shown only now. Who knows it can send requests; end it with --remove.');
}

async function listWebhooks(cli: Cli, { plugins }: Longshore, plugin: string, json: boolean): Promise<void> {
  const [webhooks, { id, reports }] = await Promise.all([plugins.webhooks(plugin), plugins.get(plugin)]);
  if (json) return printJson(cli, webhooks);
  const offered = new Map(reports.flatMap((report) => report.webhooks ?? []).map((each) => [each.endpoint, each]));
  for (const { endpoint, name, description } of offered.values()) {
    printFact(cli, [`${id} has the webhook ${JSON.stringify(endpoint)}`, name, description].filter((part) => part !== '').join(', '));
  }
  const nothing = offered.size === 0 ? `No worker reports a webhook of ${id}.` : `No addresses. Make one: longshore plugins webhooks ${id} --add <endpoint>`;
  if (webhooks.length === 0) return printFact(cli, nothing);
  const rows = webhooks.map(({ webhookId, tenantId, endpoint, lastAt, waiting, delivered, failed, problem = '' }) => {
    const last = lastAt === undefined ? 'never' : lastAt.slice(0, 19).replace('T', ' ');
    return [webhookId, endpoint, tenantId, last, String(waiting), String(delivered), String(failed), problem.split('\n')[0]?.slice(0, 100) ?? ''];
  });
  printTable(cli, ['ID', 'ENDPOINT', 'TENANT', 'LAST', 'WAITING', 'DELIVERED', 'FAILED', 'NEWEST PROBLEM'], rows);
}
