import { randomFrom } from '../../../scripts/chaos/random.ts';
import { killWorkers, seedFrom } from '../everything/kill-workers.ts';
import { installAgents, until, type Installation, type ScriptedStep } from '../support.ts';

/** 73 conversations, of which 50 may be open at the same time. */
const BRANCHES = 8;
const LEAVES = 8;
/** The longer form: LONGSHORE_TREE_RUNS=5. */
const RUNS = Number(process.env['LONGSHORE_TREE_RUNS'] ?? 2);
/** Run `n` has the kills of this number plus `n`. The same kills again: LONGSHORE_TREE_SEED with the number that was printed. */
const SEED = seedFrom('LONGSHORE_TREE_SEED');
const BUDGET = 2_000_000;
const usage = { inputTokens: 900, outputTokens: 100 };
const tasks = (count: number, agent: string): ScriptedStep => ({
  calls: Array.from({ length: count }, (_, index) => ({ call: 'agents:run', with: { agent, task: `Task ${index} of ${agent}.` } })),
  usage,
});

/** A tree of conversations, whose workers are killed at random moments while it works. */
let installation: Installation;
beforeAll(async () => {
  const own = { budget: { tokens: BUDGET } };
  installation = await installAgents({
    root: { ...own, agents: { branch: { agent: 'branch', description: 'Has leaves.' } }, steps: [tasks(BRANCHES, 'branch'), { say: 'All is done.', usage }] },
    branch: { agents: { leaf: { agent: 'leaf', description: 'Works.' } }, steps: [tasks(LEAVES, 'leaf'), { say: 'My leaves have answered.', usage }] },
    leaf: {
      steps: [
        { call: 'tools:search', with: { query: 'files' }, usage },
        { say: 'I have worked.', usage },
      ],
    },
  });
}, 180_000);
afterAll(() => installation[Symbol.asyncDispose](), 180_000);

/** Of conversations that are closed. */
async function mostOpenAtOnce(ids: string[]): Promise<number> {
  const changes: { at: number; by: 1 | -1 }[] = [];
  for (const id of ids) {
    for await (const { type, at } of (await installation.longshore.chat(id)).events()) {
      if (type === 'conversation.started') changes.push({ at: Date.parse(at), by: 1 });
      if (type === 'conversation.closed') changes.push({ at: Date.parse(at), by: -1 });
    }
  }
  let open = 0;
  // An end and a beginning in the same millisecond: the end came first.
  const counts = changes.toSorted((one, other) => one.at - other.at || one.by - other.by).map(({ by }) => (open += by));
  return Math.max(...counts);
}

test.each(Array.from({ length: RUNS }, (_, run) => run + 1))(
  'run %i: nothing is overspent, nobody is left over, and every answer arrives once',
  async (run) => {
    console.log(`LONGSHORE_TREE_SEED=${SEED}, run ${run}`);
    const { longshore } = installation;
    const before = new Set((await longshore.list({ limit: 1000 })).map(({ conversationId }) => conversationId));
    await using killing = await killWorkers(installation, randomFrom(SEED + run));
    await using chat = await longshore.start({ agent: 'root', user: 'ann', message: 'Go.' });
    expect(await chat.reply()).toBe('All is done.');
    await killing.stop();
    expect(killing.kills()).toBeGreaterThan(0);

    const below = async () => (await longshore.list({ limit: 1000 })).filter((row) => row.conversationId !== chat.id && !before.has(row.conversationId));
    await until(async () => (await below()).every(({ state }) => state === 'closed'), 'all have ended');
    await until(async () => (await chat.status()).tokensUsed === BRANCHES * LEAVES * 2000 + BRANCHES * 2000 + 2000, 'all tokens are counted');
    const tree = await below();
    expect(tree).toHaveLength(BRANCHES + BRANCHES * LEAVES);
    for (const { conversationId, agentId } of [...tree, { conversationId: chat.id, agentId: 'root' }]) {
      const entries = (await longshore.transcript(conversationId)).map(({ entry }) => entry);
      const roles = entries.map(({ role }) => role);
      const calls = { root: BRANCHES, branch: LEAVES, leaf: 1 }[agentId] ?? 0;
      expect(roles).toEqual(['user', 'assistant', ...Array.from({ length: calls }, () => 'tool'), 'assistant']);
      if (agentId === 'leaf') continue;
      const answers = entries.flatMap((entry) => (entry.role === 'tool' ? entry.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : []));
      const answer = agentId === 'root' ? 'My leaves have answered.' : 'I have worked.';
      expect(answers).toEqual(Array.from({ length: calls }, () => answer));
    }
    expect(await mostOpenAtOnce(tree.map(({ conversationId }) => conversationId))).toBeLessThan(50);
    await chat.close();
  },
  600_000,
);
