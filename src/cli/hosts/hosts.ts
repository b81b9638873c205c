import { Command } from 'commander';
import { parseDuration } from '../../common/duration.ts';
import { shortTime } from '../../common/short-time.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import { failure } from '../../contracts/errors.ts';
import type { KnownHost } from '../../store/service/fleet.ts';
import { ON_HOST } from '../../store/sandbox-rows.ts';
import type { Store } from '../../store/store.ts';
import { printFact, printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { withStore } from '../output/with-store.ts';
import { drainCommand } from './drain.ts';
import { findHost, megabytes, refuseHost } from './known-hosts.ts';

export function hostsCommand(cli: Cli): Command {
  const command = new Command('hosts').description('The machines that have sandboxes: list them, and take one out of service');
  for (const part of [listHosts(cli), showHost(cli), drainCommand(cli), resumeHost(cli), removeHost(cli)]) command.addCommand(part);
  return command;
}

function listHosts(cli: Cli): Command {
  return new Command('ls')
    .description('List the hosts whose workers have been heard of')
    .option('--json', 'as JSON')
    .action(({ json }: { json?: boolean }) =>
      withStore(cli, async ({ fleet }) => {
        const hosts = await fleet.hosts(lostAfterMs(cli));
        if (json) return printJson(cli, hosts);
        if (hosts.length === 0) return printLine(cli, 'No hosts.');
        const lines = hosts.map((host) => [
          host.hostId,
          stateOf(host),
          String(countOf(host)),
          memoryOf(host),
          diskOf(host),
          host.facts?.version ?? '-',
          shortTime(host.heardAt),
        ]);
        return printTable(cli, ['HOST', 'STATE', 'SANDBOXES', 'MEMORY', 'DISK', 'VERSION', 'HEARD'], lines);
      }),
    );
}

function showHost(cli: Cli): Command {
  return new Command('show')
    .description('Show a host: what it has, and what is on it')
    .argument('<host>')
    .option('--json', 'as JSON')
    .action((hostId: string, { json }: { json?: boolean }) =>
      withStore(cli, async (store) => {
        const host = await findHost(store, hostId, lostAfterMs(cli));
        if (json) return printJson(cli, host);
        for (const line of linesOf(host)) printFact(cli, line);
      }),
    );
}

function resumeHost(cli: Cli): Command {
  return new Command('resume')
    .description('End the draining of a host: it takes sandboxes again')
    .argument('<host>')
    .action((hostId: string) =>
      withStore(cli, async (store) => {
        if (!(await store.fleet.setDraining(hostId, false))) throw refuseHost(hostId);
        const { isThere } = await findHost(store, hostId, lostAfterMs(cli));
        const when = isThere ? `, in ${Math.ceil(lostAfterMs(cli) / 6000)} seconds at the latest` : ' when a worker of it is started';
        printFact(cli, `Host "${hostId}" takes sandboxes again${when}.`);
      }),
    );
}

function removeHost(cli: Cli): Command {
  return new Command('remove')
    .description('Forget a host that is gone for good; only when nothing is left on it and no worker of it runs')
    .argument('<host>')
    .action((hostId: string) =>
      withStore(cli, async (store) => {
        const host = await findHost(store, hostId, lostAfterMs(cli));
        if (!(await store.fleet.forget(hostId, lostAfterMs(cli)))) throw await refusal(store, host);
        printFact(cli, `Host "${hostId}" is removed.`);
      }),
    );
}

async function refusal({ sandboxes }: Store, { hostId, isThere, unstored }: KnownHost): Promise<Error> {
  // Warm ones are removed with their host.
  const left = (await sandboxes.list({ hostId, states: ON_HOST })).filter(({ pool }) => pool?.slot === undefined).map(({ sandboxId }) => sandboxId);
  const more = left.length > NAMED ? ` and ${left.length - NAMED} more` : '';
  const problems = [
    ...(isThere ? ['a worker of it is there'] : []),
    ...(left.length > 0 ? [`these sandboxes are on it: ${left.slice(0, NAMED).join(', ')}${more}`] : []),
    ...(unstored > 0 ? [`${unstored} snapshots are on it and not in the blob store`] : []),
  ];
  const toMove = isThere
    ? `Move them: longshore hosts drain ${hostId}`
    : 'Start a worker of it to move them. Otherwise each goes to another host when it is used, or ends with its conversation';
  const steps = [...(isThere ? ['stop its workers'] : []), ...(unstored > 0 ? ['remove these snapshots'] : [])].join(', and ') || 'try again';
  const fix = left.length > 0 ? toMove : `${steps.charAt(0).toUpperCase()}${steps.slice(1)}`;
  return failure('INVALID_ARGUMENT', { what: 'host', problem: `"${hostId}" cannot be removed: ${problems.join('; ') || 'it has just changed'}`, fix });
}

const NAMED = 10;

function lostAfterMs(cli: Cli): number {
  return parseDuration(cli.config().LONGSHORE_HOST_LOST_AFTER);
}

function stateOf({ isThere, drainingSince }: KnownHost): string {
  if (!isThere) return 'silent';
  return drainingSince === undefined ? 'there' : 'draining';
}

function countOf({ sandboxes }: KnownHost): number {
  return Object.values(sandboxes).reduce((sum, count) => sum + count, 0);
}

/** What it has promised, of what it may, or of what it has. */
function memoryOf({ facts, reservedBytes }: KnownHost): string {
  const most = facts?.allowedBytes ?? facts?.memoryBytes;
  return `${megabytes(reservedBytes)} of ${most === undefined ? '?' : megabytes(most)} MB`;
}

/** What is free, of what there is. */
function diskOf({ facts }: KnownHost): string {
  const { disk } = facts ?? {};
  return disk ? `${megabytes(disk.freeBytes)} of ${megabytes(disk.totalBytes)} MB free` : 'unknown';
}

function diskLine(host: KnownHost): string {
  const { disk } = host.facts ?? {};
  const short = disk?.isShort ? `; it takes no new sandboxes before it has ${megabytes(disk.againBytes)} MB` : '';
  return `disk of its engine: ${diskOf(host)}${short}`;
}

function roomLines({ facts, waiting }: KnownHost): string[] {
  if (facts?.allowedBytes === undefined) return [];
  const machine = facts.memoryBytes === undefined ? '' : ` of the ${megabytes(facts.memoryBytes)} MB of the machine`;
  return [`it promises ${megabytes(facts.allowedBytes)} MB${machine} at most; sandboxes that wait for it or for any host: ${waiting}`];
}

function linesOf(host: KnownHost): string[] {
  const { hostId, facts, since, heardAt, drainingSince, sandboxes, snapshots, unstored } = host;
  const labels = facts?.labels ?? [];
  const counts = Object.entries(sandboxes).map(([state, count]) => `${count} ${state}`);
  return [
    `${hostId}: ${stateOf(host)}, there since ${shortTime(since)}, heard of ${shortTime(heardAt)}`,
    ...(drainingSince === undefined ? [] : [`it has been drained since ${shortTime(drainingSince)}, and takes no sandboxes`]),
    ...(facts ? [`version ${facts.version}, ${facts.cpus ?? '?'} processors, runtimes ${facts.runtimes.join(', ') || 'none'}`] : []),
    ...(labels.length > 0 ? [`labels ${labels.map(visibleLine).join(', ')}`] : []),
    `memory limits of its sandboxes with processes: ${memoryOf(host)}`,
    ...roomLines(host),
    diskLine(host),
    `sandboxes: ${counts.join(', ') || 'none'}; snapshots: ${snapshots}${unstored > 0 ? `, ${unstored} not in the blob store` : ''}`,
  ];
}
