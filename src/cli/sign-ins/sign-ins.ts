import { Command } from 'commander';
import type { SignOut } from '../../oauth/revoke-tokens.ts';
import { loginName } from '../../platform/login-name.ts';
import { EXIT, printFact, printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { withStore } from '../output/with-store.ts';

interface ListOptions {
  tenant?: string;
  user?: string;
  server?: string;
  json?: boolean;
}

export function signInsCommand(cli: Cli): Command {
  return new Command('sign-ins').description('Where users are signed in at MCP servers').addCommand(listCommand(cli)).addCommand(endCommand(cli));
}

function listCommand(cli: Cli): Command {
  return new Command('ls')
    .description('List them, without the tokens')
    .option('--tenant <id>', 'only those of this tenant')
    .option('--user <id>', 'only those of this user')
    .option('--server <name>', 'only those at this server')
    .option('--json', 'as JSON')
    .action(({ tenant, user, server, json = false }: ListOptions) =>
      withStore(cli, async ({ signIns }) => {
        const filter = {
          ...(tenant !== undefined && { tenantId: tenant }),
          ...(user !== undefined && { userId: user }),
          ...(server !== undefined && { server }),
        };
        const rows = await signIns.tokens.list(filter);
        if (json) return printJson(cli, rows);
        if (rows.length === 0) return printLine(cli, 'None.');
        const lines = rows.map((row) => [row.tenantId, row.userId, row.server, row.issuer, row.scope || '-', dayOf(row.signedInAt), dayOf(row.renewedAt)]);
        return printTable(cli, ['TENANT', 'USER', 'SERVER', 'AT', 'ALLOWED', 'SINCE', 'RENEWED'], lines);
      }),
    );
}

function endCommand(cli: Cli): Command {
  return new Command('end')
    .description('Remove the tokens of a user at a server. The next call that needs them asks the user to sign in')
    .argument('<server>', 'name of the server, as agents write it')
    .requiredOption('--user <id>')
    .option('--tenant <id>', 'the tenant of the user', 'default')
    .action((server: string, { tenant, user }: { tenant: string; user: string }) =>
      withStore(cli, async ({ audit, pluginStore, signIns }) => {
        const { forgetListOf } = await import('../../plugins/dialects/mcp/sign-in/lists-of-users.ts');
        const { signOut } = await import('../../oauth/revoke-tokens.ts');
        const { readOAuthAddresses } = await import('../../oauth/oauth-fetch.ts');
        const place = { tenantId: tenant, userId: user, server };
        const ended = await signOut({ rows: signIns, allowAddresses: readOAuthAddresses(cli.config()) }, place);
        await forgetListOf(pluginStore, place);
        if (ended.outcome === 'none') {
          printFact(cli, `${user} of the tenant ${tenant} is not signed in at ${server}.`);
          cli.exitCode = EXIT.failed;
          return;
        }
        // The id of the user is not written into the log, since the log cannot be erased.
        await audit.add({ actor: { kind: 'login', id: loginName() ?? 'unknown' }, action: 'user.sign-out', target: server, tenantId: tenant });
        printFact(cli, `${user} of the tenant ${tenant} is signed out at ${server}. ${whatBecame(ended)}`);
      }),
    );
}

function whatBecame(ended: Exclude<SignOut, { outcome: 'none' }>): string {
  const { outcome, issuer = 'its authorization server' } = ended;
  if (outcome === 'revoked') return `The tokens are revoked at ${issuer}.`;
  return `The tokens could not be revoked at ${issuer}: ${ended.why}. They hold there until they end, or until the user removes Longshore there.`;
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
