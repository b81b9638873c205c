import { Command } from 'commander';
import type { SandboxTier } from '../../contracts/conversation.ts';
import { printFact, type Cli } from '../output/cli.ts';
import { checkRest, checkVisit } from '../../sandbox/visits/held.ts';
import { oneByOne } from './one-by-one.ts';
import { untilRoom } from '../../sandbox/api/until-room.ts';
import { waitingForRoom } from './waiting-for-room.ts';
import { findSandbox, withSandboxes, type Desk } from './with-sandboxes.ts';

interface RestOptions {
  force?: boolean;
  keepProcesses?: boolean;
}
type Move = (desk: Desk, sandboxId: string, options: { otherwise: 'stop' | 'stay'; force: boolean }) => Promise<SandboxTier>;

const KEEP = ['--keep-processes', 'change nothing if its processes would end'] as const;

/** One command for each tier to which a sandbox can be moved. */
export function restCommands(cli: Cli): Command[] {
  const rest = (name: string, description: string, move: Move) =>
    new Command(name)
      .description(`${description}. Any use wakes it`)
      .argument('<ids...>', 'sandboxes, or conversations that have one')
      .option('--force', 'even while its conversation uses it')
      .action((ids: string[], options: RestOptions) => bring(cli, ids, options, { wanted: TIERS[name] ?? 'none', move }));
  return [
    rest('freeze', 'Freeze a sandbox: it keeps its memory and uses no processor time', ({ sandboxes }, id, { force }) =>
      sandboxes.freeze(id, { mode: force ? 'pause' : 'idle' }),
    ),
    rest(
      'hibernate',
      'Hibernate a sandbox: its processes and memory rest on disk; where the host cannot do that, it is stopped',
      ({ sandboxes }, id, options) => sandboxes.hibernate(id, options),
    ).option(...KEEP),
    rest('stop', 'End the processes of a sandbox and keep its files', ({ sandboxes }, id) => sandboxes.stop(id)),
    rest('archive', 'Pack a sandbox into the blob store and remove it from its host', ({ sandboxes }, id, options) => sandboxes.archive(id, options)).option(
      ...KEEP,
    ),
    wake(cli),
  ];
}

const TIERS: Record<string, SandboxTier> = { freeze: 'frozen', hibernate: 'hibernated', stop: 'stopped', archive: 'archived' };

function wake(cli: Cli): Command {
  return new Command('wake')
    .description('Wake a sandbox from any state of rest')
    .argument('<ids...>', 'sandboxes, or conversations that have one')
    .option('--force', 'even if its conversation is paused')
    .action((ids: string[], { force = false }: RestOptions) =>
      withSandboxes(cli, (desk) =>
        waitingForRoom(cli, async (waiting) => {
          for (const id of ids) {
            waiting.signal.throwIfAborted();
            const { sandboxId } = await findSandbox(desk, id);
            const wake = async () => {
              // Each time, since the conversation may be paused while this waits.
              await checkVisit(desk, await findSandbox(desk, sandboxId), { force });
              return desk.sandboxes.wake(sandboxId);
            };
            printFact(cli, `${sandboxId}: ${await untilRoom(wake, waiting)}.`);
          }
        }),
      ),
    );
}

async function bring(cli: Cli, ids: string[], options: RestOptions, { wanted, move }: { wanted: SandboxTier; move: Move }): Promise<void> {
  const { force = false, keepProcesses = false } = options;
  await withSandboxes(cli, (desk) =>
    oneByOne(cli, ids, async (id) => {
      const row = await findSandbox(desk, id);
      await checkRest(desk, row, force);
      const tier = await move(desk, row.sandboxId, { otherwise: keepProcesses ? 'stay' : 'stop', force });
      printFact(cli, `${row.sandboxId}: ${tier}${tier === wanted ? '' : await whyNot(desk, wanted)}.`);
    }),
  );
}

async function whyNot({ sandboxes }: Desk, wanted: SandboxTier): Promise<string> {
  if (wanted !== 'hibernated') return ` and not ${wanted}`;
  const { checkpoint, problem } = await sandboxes.capabilities();
  return checkpoint
    ? ' and not hibernated: it is not in gVisor, or its processes could not be stored on disk'
    : ` and not hibernated: ${problem ?? 'this host cannot'}`;
}
