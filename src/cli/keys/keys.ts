import { Command, InvalidArgumentError } from 'commander';
import { SCOPES, type ApiKey, type Scope } from '../../contracts/api-key.ts';
import { printFact, printJson, printLine, withClient, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';

interface CreateOptions {
  scope: Scope[];
  tenant?: string;
  expires?: string;
  json?: boolean;
}

export function keysCommand(cli: Cli): Command {
  const command = new Command('keys').description('Make, list, rotate and revoke keys of the HTTP API');
  command
    .command('create')
    .description('Make a key and print it: it is shown only now')
    .argument('<name>', 'for whom or what it is')
    .option('--scope <scope>', `what it may do; repeat it for more: ${SCOPES.join(', ')}`, addScope, [])
    .option('--tenant <id>', 'the only tenant that it sees (default: all)')
    .option('--expires <duration>', 'when it ends, such as 90d (default: never)')
    .option('--json', 'as JSON')
    .action((name: string, options: CreateOptions) => createKey(cli, name, options));
  command
    .command('ls')
    .description('List keys, with those that have ended')
    .option('--tenant <id>', 'only those of this tenant')
    .option('--json', 'as JSON')
    .action(({ tenant, json = false }: { tenant?: string; json?: boolean }) => listKeys(cli, tenant, json));
  command
    .command('rotate')
    .description('Make a key that replaces another, and print it: it is shown only now')
    .argument('<id>', 'id of the old key, the part between lsk_ and the next _')
    .option('--overlap <duration>', 'how long the old key still works, such as 24h; 0s ends it at once', '24h')
    .option('--json', 'as JSON')
    .action((id: string, options: { overlap: string; json?: boolean }) => rotateKey(cli, id, options));
  command
    .command('revoke')
    .description('End a key at once')
    .argument('<id>', 'its id, the part between lsk_ and the next _')
    .action((id: string) =>
      withClient(
        cli,
        async (longshore) => {
          const { keyId, name } = await longshore.keys.revoke(id);
          printFact(cli, `The key ${keyId} (${name}) is revoked.`);
        },
        { lazy: true },
      ),
    );
  return command;
}

function addScope(text: string, before: Scope[]): Scope[] {
  const scope = SCOPES.find((one) => one === text);
  if (scope === undefined) throw new InvalidArgumentError(`Use ${SCOPES.join(', ')}.`);
  return [...before, scope];
}

/** Without a scope, a key reads and writes conversations; it approves nothing. */
const USUAL: Scope[] = ['conversations:read', 'conversations:write'];

function createKey(cli: Cli, name: string, { scope, tenant, expires, json = false }: CreateOptions): Promise<void> {
  return withClient(
    cli,
    async (longshore) => {
      const scopes = scope.length > 0 ? scope : USUAL;
      const key = await longshore.keys.create({
        name,
        scopes,
        ...(tenant !== undefined && { tenant }),
        ...(expires !== undefined && { expiresIn: expires }),
      });
      if (json) return printJson(cli, key);
      printFact(cli, key.text);
      printFact(cli, `It is shown only now. ${ofTenant(key)}; it may: ${key.scopes.join(', ')}. Revoke it with: longshore keys revoke ${key.keyId}`);
    },
    { lazy: true },
  );
}

function rotateKey(cli: Cli, id: string, { overlap, json = false }: { overlap: string; json?: boolean }): Promise<void> {
  return withClient(
    cli,
    async (longshore) => {
      const key = await longshore.keys.rotate(id, { overlap });
      if (json) return printJson(cli, key);
      printFact(cli, key.text);
      printFact(cli, `It is shown only now. ${ofTenant(key)}; it may: ${key.scopes.join(', ')}. The old key ${id} ends at ${key.oldEndsAt}.`);
    },
    { lazy: true },
  );
}

function listKeys(cli: Cli, tenant: string | undefined, json: boolean): Promise<void> {
  return withClient(
    cli,
    async (longshore) => {
      const keys = await longshore.keys.list(tenant);
      if (json) return printJson(cli, keys);
      if (keys.length === 0) return printLine(cli, 'No keys. Make one with: longshore keys create <name>');
      const lines = keys.map((key) => [
        key.keyId,
        key.name,
        key.tenantId ?? 'all',
        key.scopes.join(','),
        stateOf(key),
        day(key.createdAt),
        day(key.lastUsedAt),
      ]);
      printTable(cli, ['KEY', 'NAME', 'TENANT', 'SCOPES', 'STATE', 'MADE', 'LAST USED'], lines);
    },
    { lazy: true },
  );
}

function ofTenant({ tenantId }: ApiKey): string {
  return tenantId === undefined ? 'It sees all tenants' : `It sees tenant ${tenantId} only`;
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt !== undefined) return 'revoked';
  if (expiresAt === undefined) return 'active';
  return Date.parse(expiresAt) <= Date.now() ? 'expired' : `until ${day(expiresAt)}`;
}

function day(at: string | undefined): string {
  return at?.slice(0, 10) ?? '-';
}
