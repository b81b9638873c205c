/**
 * Upgrades an installation as operators do, while conversations are open in it. A version that is older makes the database and begins the conversations; then the
 * current set-up and worker run beside the old worker, then the current one alone. Each conversation has to end with what it would have said without an upgrade,
 * with each call made once, and without a workflow task that failed. The older version comes from this repository's history.
 *   npm run test:upgrade [-- --from REVISION --conversations 100 --versioned | --pinned]
 * `--versioned` gives the workers a LONGSHORE_WORKER_VERSION each, and makes the current one Temporal's current version. `--pinned` sets LONGSHORE_PINNED_TURNS too:
 * no run of a conversation may have tasks of two versions, and all have to move before the old worker ends. It needs a Temporal server from 1.30 on, such as that of
 * a newer `temporal` on PATH.
 */
import { parseArgs } from 'node:util';
import { connect } from '../../src/client.ts';
import { until } from '../../test/e2e/support.ts';
import { startTestStack } from '../../test/support/stack.ts';
import { endings } from './endings.ts';
import { groupsOf, type Group } from './groups.ts';
import { openOldVersion } from './old-version.ts';
import { openUpgrade, type Upgrade } from './open-upgrade.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: 'HEAD~50' },
    conversations: { type: 'string', default: '100' },
    versioned: { type: 'boolean', default: false },
    pinned: { type: 'boolean', default: false },
  },
});
const count = Number(values.conversations);
if (!Number.isInteger(count) || count < 5) throw new Error(`--conversations: "${values.conversations}" is not usable. Give a number from 5.`);

const stack = await startTestStack();
try {
  await using old = await openOldVersion(values.from);
  await using upgrade = await openUpgrade(old, values.pinned ? 'pinned' : values.versioned ? 'versioned' : 'none');
  const problems = await run(upgrade);
  for (const problem of problems) console.error(problem);
  console.log(`${count} conversations, ${problems.length} problems`);
  process.exitCode = problems.length > 0 ? 1 : 0;
} finally {
  await stack.stop();
}

async function run(upgrade: Upgrade): Promise<string[]> {
  const groups = groupsOf(count, upgrade);
  const before = upgrade.startOld();
  await before.ready;
  await upgrade.useVersion('old');
  const started = await begin(upgrade, groups);
  console.log(`${started.length} conversations are open under the old version`);

  await upgrade.setUp();
  const after = upgrade.startCurrent();
  await after.ready;
  await using longshore = await connect(upgrade.connection);
  const open = await Promise.all(started.map(async ({ id, ...rest }) => ({ ...rest, chat: await longshore.chat(id) })));
  await inAll(open, ({ group, chat, index }) => group.beside(chat, index));
  console.log('the current version runs beside the old one');

  await upgrade.useVersion('current');
  const goOn = () => inAll(open, ({ group, chat, index }) => group.after(chat, index));
  if (upgrade.versions === 'pinned') {
    await goOn();
    await inAll(open, ({ chat }) => until(async () => (await upgrade.versionOf(chat.id)) === 'current', `${chat.id} has moved to the current version`));
  }
  await before.stop();
  console.log('the old version is gone');
  if (upgrade.versions !== 'pinned') await goOn();
  return await endings(open, upgrade);
}

/** Begun by the old version's own client. Gives the ids, since that client ends with its version. */
async function begin(upgrade: Upgrade, groups: Group[]) {
  await using longshore = await upgrade.connectOld();
  const all = groups.flatMap((group) => Array.from({ length: group.size }, (_, index) => ({ group, index })));
  const started: { group: Group; index: number; id: string }[] = [];
  await inAll(all, async ({ group, index }) => {
    const chat = await longshore.start({ agent: group.agent, user: 'ann', message: group.message(index) });
    await group.before(chat, index);
    started.push({ group, index, id: chat.id });
  });
  return started;
}

/** Ten at a time, as several clients would. */
async function inAll<T>(items: T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = items.values();
  const work = async () => {
    for (const item of waiting) await act(item);
  };
  await Promise.all(Array.from({ length: 10 }, work));
}
