import type { SandboxTier } from '../../../contracts/conversation.ts';
import { ownRow, tierOfState, untilSettled, type DockerContext } from './docker-context.ts';
import { isCurrent } from './current.ts';
import { describeDeath } from './describe-loss.ts';

const TIERS = { running: 'running', paused: 'frozen', hibernated: 'hibernated', created: 'as the row says', ended: undefined } as const;

/**
 * The tier of a sandbox. When its container has ended, the row becomes `lost`. When the container is frozen or thawed and the row says otherwise, the
 * container's state is returned and the row stays: another caller may be between the two steps of a change.
 */
export async function checkTier(context: DockerContext, sandboxId: string): Promise<SandboxTier> {
  return untilSettled(sandboxId, async () => {
    const row = await ownRow(context, sandboxId);
    if (row.state !== 'running' && row.state !== 'frozen' && row.state !== 'hibernated') return tierOfState(row.state);
    const found = await context.engine.inspect(row.containerName);
    const container = isCurrent(row, found) ? found : undefined;
    const tier = container && TIERS[container.status];
    if (tier === 'as the row says') return row.state;
    if (tier !== undefined) return tier;
    const changed = await context.rows.change(sandboxId, row.generation, { state: 'lost', lost: describeDeath(container) });
    return changed === undefined ? undefined : 'lost';
  });
}
