import { Command } from 'commander';
import { shortTime } from '../../common/short-time.ts';
import type { SandboxOptions } from '../../contracts/agent.ts';
import { isFailure } from '../../contracts/errors.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import type { SandboxRow } from '../../store/sandbox-rows.ts';
import { printFact, printJson, type Cli } from '../output/cli.ts';
import { ownerOf } from '../../sandbox/visits/held.ts';
import { findSandbox, withSandboxes, type Desk } from './with-sandboxes.ts';

export function showSandbox(cli: Cli): Command {
  return new Command('show')
    .description('Show a sandbox: its host, owner, limits and use. Does not wake it')
    .argument('<id>', 'sandbox, or a conversation that has one')
    .option('--json', 'as JSON')
    .action((id: string, { json }: { json?: boolean }) =>
      withSandboxes(cli, async (desk) => {
        const row = await findSandbox(desk, id);
        const facts = await gather(desk, row);
        if (json) return printJson(cli, facts);
        for (const line of linesOf(facts)) printFact(cli, line);
      }),
    );
}

type Facts = Awaited<ReturnType<typeof gather>>;

async function gather(desk: Desk, row: SandboxRow) {
  const { sandboxId } = row;
  const { samples } = desk.store;
  const [tier, owner, snapshots] = await Promise.all([shownTier(desk, row), ownerOf(desk, row), desk.sandboxes.snapshots({ sandboxId })]);
  const { backups } = desk.store;
  const [sample, stateMs, waiting] = await Promise.all([samples.newest(sandboxId), samples.stateTimes(sandboxId), backups.waiting(sandboxId)]);
  return { ...row, tier, ...(owner && { conversation: owner.state }), snapshots, ...(sample && { sample }), stateMs, toBackUp: waiting };
}

/** Checked against the engine, if the sandbox is on this host. */
async function shownTier({ sandboxes }: Desk, { sandboxId, state }: SandboxRow): Promise<string> {
  return sandboxes.tier(sandboxId).catch((error: unknown) => {
    if (isFailure(error, 'SANDBOX_UNREACHABLE')) return state;
    throw error;
  });
}

function linesOf(facts: Facts): string[] {
  const { sandboxId, tier, hostId, containerName, volumeName, conversationId, conversation, tenantId, snapshots, expiresAt } = facts;
  const whose = conversationId === undefined ? 'of no conversation' : `of conversation ${conversationId} (${conversation ?? 'closed'})`;
  return [
    `${sandboxId}: ${facts.state === 'warm' ? 'warm' : tier}, ${whose}, tenant ${tenantId}`,
    `host ${hostId}, container ${containerName}, volume ${volumeName}`,
    limitsOf(facts.options),
    `made ${shortTime(facts.createdAt)}, used ${shortTime(facts.lastUsedAt)}${expiresAt === undefined ? '' : `, destroyed ${shortTime(expiresAt)}`}`,
    ...(facts.filesLostAt === undefined ? [] : [`lost its files ${shortTime(facts.filesLostAt)}`]),
    ...(facts.sample ? [useOf(facts.sample)] : []),
    `time ${Object.entries(facts.stateMs)
      .map(([state, milliseconds]) => `${state} ${spanOf(milliseconds)}`)
      .join(', ')}`,
    ...backupOf(facts),
    ...snapshots.map(
      ({ snapshotId, name, memory, createdAt }) =>
        `snapshot ${snapshotId}${name === undefined ? '' : ` "${name}"`}, ${memory ? 'with processes' : 'files'}, ${shortTime(createdAt)}`,
    ),
  ];
}

function backupOf({ backup, toBackUp: { dueAt, problem } }: Facts): string[] {
  const packed = backup?.parts.reduce((sum, { blob }) => sum + blob.bytes, 0) ?? 0;
  return [
    ...(backup ? [`backup of ${shortTime(backup.at)}, ${backup.files} files, ${(packed / MEBIBYTE).toFixed(1)} MB in ${backup.parts.length} blobs`] : []),
    ...(dueAt === undefined ? [] : [`a backup is due since ${shortTime(dueAt)}${problem === undefined ? '' : `: ${problem}`}`]),
  ];
}

function limitsOf(options: SandboxOptions): string {
  const { template, image, runtime, memoryMb, cpus, pids, egress = [], labels = {}, hostLabels = [] } = options;
  const parts = [
    `template ${template ?? 'none'}`,
    ...(image === undefined ? [] : [`image ${image}`]),
    ...(runtime === undefined ? [] : [`runtime ${runtime}`]),
    ...(memoryMb === undefined ? [] : [`${memoryMb} MB`]),
    ...(cpus === undefined ? [] : [`${cpus} CPUs`]),
    ...(pids === undefined ? [] : [`${pids} processes`]),
    egress.length === 0 ? 'no network access' : `may reach ${egress.map((rule) => (typeof rule === 'string' ? rule : rule.host)).join(', ')}`,
    ...(hostLabels.length === 0 ? [] : [`only on hosts with the labels ${hostLabels.map(visibleLine).join(' and ')}`]),
    ...Object.entries(labels).map(([name, value]) => `${name}=${value}`),
  ];
  return parts.join(', ');
}

function useOf({ at, cpus, memoryBytes, diskBytes, processes }: NonNullable<Facts['sample']>): string {
  const parts = [
    `${(memoryBytes / MEBIBYTE).toFixed(0)} MB of memory`,
    ...(cpus === undefined ? [] : [`${cpus.toFixed(2)} CPUs`]),
    `${processes} processes`,
    ...(diskBytes === undefined ? [] : [`${(diskBytes / MEBIBYTE).toFixed(0)} MB on disk`]),
  ];
  return `used ${parts.join(', ')} at ${shortTime(at)}`;
}

const MEBIBYTE = 1024 * 1024;

/** Formats a time span, such as `2d 3h` or `5m 7s`. */
function spanOf(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (days > 0) return `${days}d ${hours}h`;
  if (hours > 0) return `${hours}h ${minutes}m`;
  return minutes > 0 ? `${minutes}m ${seconds % 60}s` : `${seconds}s`;
}
