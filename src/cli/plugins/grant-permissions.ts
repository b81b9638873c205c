import type { Longshore } from '../../client.ts';
import type { PermissionBound } from '../../contracts/agent.ts';
import { failure } from '../../contracts/errors.ts';
import { printFact, printJson, type Cli } from '../output/cli.ts';
import { whoFollows } from './show-plugins.ts';

export interface GrantOptions extends PermissionBound {
  all?: boolean;
  json?: boolean;
}

export async function grantPermissions(cli: Cli, longshore: Longshore, id: string, { all = false, json = false, ...permissions }: GrantOptions): Promise<void> {
  const isNamed = Object.keys(permissions).length > 0;
  if (all === isNamed) {
    const problem = all ? 'it cannot be combined with single permissions' : 'no permission is named';
    throw failure('INVALID_ARGUMENT', { what: '--all', problem, fix: 'Give --all, or some of --network, --env and --fs' });
  }
  const granted = await longshore.plugins.grant(id, all ? 'asked' : permissions);
  await tell(cli, longshore, id, { json, verb: 'granted', permissions: granted });
}

/** Without any permission, all grants are revoked. */
export async function revokePermissions(cli: Cli, longshore: Longshore, id: string, { json = false, ...permissions }: GrantOptions): Promise<void> {
  const revoked = await longshore.plugins.revoke(id, Object.keys(permissions).length > 0 ? permissions : undefined);
  await tell(cli, longshore, id, { json, verb: 'revoked', permissions: revoked });
}

interface Change {
  json: boolean;
  verb: 'granted' | 'revoked';
  permissions: PermissionBound;
}

async function tell(cli: Cli, longshore: Longshore, given: string, { json, verb, permissions }: Change): Promise<void> {
  const state = await longshore.plugins.get(given);
  const { id, granted } = state;
  if (json) return printJson(cli, { plugin: id, [verb]: permissions, now: granted });
  const direction = verb === 'granted' ? 'to' : 'from';
  printFact(cli, `${verb} ${direction} ${id}: ${JSON.stringify(permissions)}; ${whoFollows(state)}. See the result: longshore plugins show ${id}`);
}
