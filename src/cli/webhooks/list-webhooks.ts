import { printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';

export function listWebhooks(cli: Cli, tenant: string | undefined, json: boolean): Promise<void> {
  return withClient(
    cli,
    async (longshore) => {
      const webhooks = await longshore.webhooks.list(tenant);
      if (json) return printJson(cli, webhooks);
      if (webhooks.length === 0) return printLine(cli, 'No webhooks. Make one with: longshore webhooks create <url>');
      const lines = webhooks.map(({ webhookId, tenantId, url, state, why, failures, waiting }) => [
        webhookId,
        tenantId,
        url,
        state,
        String(waiting),
        why ?? (failures > 0 ? `${failures} failed attempts` : '-'),
      ]);
      printTable(cli, ['WEBHOOK', 'TENANT', 'URL', 'STATE', 'WAITING', 'TROUBLE'], lines);
    },
    { lazy: true },
  );
}
