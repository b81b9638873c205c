import type { Agent } from '../../contracts/agent.ts';
import type { Verdict } from '../../contracts/judging.ts';
import { addUsage, type Usage } from '../../contracts/usage.ts';
import { failure } from '../../contracts/errors.ts';
import { operatorText } from '../../contracts/operator-text.ts';
import { loadAgents } from '../../definitions/agents/load-agents.ts';
import { askJudge } from '../../judge/ask-judge.ts';
import { handOver } from '../../judge/read-verdict.ts';
import { createModels, type Models } from '../../models/create-models.ts';
import { readPrices } from '../../models/prices/read-prices.ts';
import { readEnvironment } from '../../platform/config.ts';
import { createLogger } from '../../platform/log.ts';
import { decide } from '../../plugins/approval/decide.ts';
import { BUILTIN_PLUGINS } from '../../plugins/builtin/builtin-plugins.ts';
import { createRegistry } from '../../plugins/registry/registry.ts';
import type { PastDecision } from '../../store/service/judgements.ts';
import { callText } from '../output/call-text.ts';
import { printFact, printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';
import { withStore } from '../output/with-store.ts';

export interface ReplayOptions {
  judge?: boolean;
  limit: number;
  json?: boolean;
}

type Saying = 'allow' | 'auto' | 'ask' | 'deny';

/** A decision of a person, with what is said about the same call now. */
interface Replayed extends Pick<PastDecision, 'conversationId' | 'callId' | 'tool' | 'arguments' | 'answer' | 'at'> {
  rules: Saying;
  why: string;
  judge?: Verdict;
}

const ROWS: [name: string, counts: (replayed: Replayed) => boolean][] = [
  ['rules allow', ({ rules }) => rules === 'allow'],
  ['rules ask', ({ rules }) => rules === 'ask'],
  ['rules deny', ({ rules }) => rules === 'deny'],
  ['rules leave to the judge', ({ rules }) => rules === 'auto'],
  ['  judge allows', ({ judge }) => judge?.verdict === 'allow'],
  ['  judge hands over', ({ judge }) => judge?.verdict === 'hand-over'],
];

/** Scores rules and judge of an agent's file against what people have decided about its calls. Nothing is run, stored or answered. */
export async function replayDecisions(cli: Cli, name: string, { judge = false, limit, json = false }: ReplayOptions): Promise<void> {
  const { LONGSHORE_AGENTS: directory, LONGSHORE_TEMPLATES: templates, LONGSHORE_PRICES: table } = cli.config();
  const agents = await loadAgents(directory, templates);
  const agent = agents.get(name);
  if (!agent) throw failure('AGENT_NOT_FOUND', { agent: name, known: [...agents.keys()].toSorted().join(', ') || 'none', directory });
  const models = createModels({ readEnvironment, log: createLogger({ LONGSHORE_LOG_LEVEL: 'error' }), prices: await readPrices(table) });
  await withStore(cli, async ({ judgements }) => {
    const replayed: Replayed[] = [];
    let usage: Usage = { inputTokens: 0, outputTokens: 0 };
    for (const past of await judgements.pastDecisions(name, limit)) {
      const { conversationId, callId, tool, arguments: given, answer, at } = past;
      const said = rulesAbout(agent, past);
      const judged = judge && said.rules === 'auto' ? await judgeAbout(models, agent, past) : undefined;
      if (judged?.usage) usage = addUsage(usage, judged.usage);
      replayed.push({ conversationId, callId, tool, arguments: given, answer, at, ...said, ...(judged && { judge: judged.verdict }) });
    }
    if (json) printJson(cli, { decisions: replayed, usage });
    else report(cli, name, replayed, judge ? usage : undefined);
  });
}

/** Tools of plugins count as tools without hints: they are not loaded here. */
function rulesAbout(agent: Agent, { tool: id, arguments: given }: PastDecision): { rules: Saying; why: string } {
  const [pluginId = id] = id.split(':');
  const tool = createRegistry(BUILTIN_PLUGINS).get(id) ?? { id, pluginId, annotations: {}, isolation: 'host' as const, requireApproval: undefined };
  const { decision, auto, why } = decide(agent, tool, given);
  return { rules: auto ? 'auto' : decision, why };
}

async function judgeAbout(models: Models, agent: Agent, past: PastDecision): Promise<{ verdict: Verdict; usage?: Usage }> {
  const { conversationId, callId: turnId, tool, arguments: given, userMessages, ofSubAgent } = past;
  if (!agent.judge) return { verdict: handOver('The agent has no judge.') };
  if (ofSubAgent || userMessages.length === 0) return { verdict: handOver('The user has written nothing that says what is wanted.') };
  const call = { tool, arguments: given, userMessages };
  try {
    const {
      model: _,
      usage,
      ...verdict
    } = await askJudge({ models, agent, judge: agent.judge, call, conversationId, turnId, signal: new AbortController().signal });
    return { verdict, ...(usage && { usage }) };
  } catch (error) {
    return { verdict: handOver(`The judge could not be asked: ${operatorText((error as Error).message, 300)}`) };
  }
}

function report(cli: Cli, name: string, replayed: Replayed[], usage: Usage | undefined): void {
  const people = (answer: 'allow' | 'deny') => replayed.filter((one) => one.answer === answer);
  const [allowed, denied] = [people('allow'), people('deny')];
  printFact(cli, `${replayed.length} decisions of people about calls of ${name}: ${allowed.length} allowed, ${denied.length} denied.`);
  if (replayed.length === 0) return;
  const rows = usage ? ROWS : ROWS.slice(0, 4);
  printTable(
    cli,
    ['', 'PERSON ALLOWED', 'PERSON DENIED'],
    rows.map(([what, counts]) => [what, String(allowed.filter(counts).length), String(denied.filter(counts).length)]),
  );
  const worse = denied.filter(({ rules, judge }) => rules === 'allow' || judge?.verdict === 'allow');
  if (worse.length > 0) printLine(cli, '\nDenied by a person, and allowed now:');
  for (const { callId, tool, arguments: given, rules, why, judge } of worse) {
    printFact(cli, `  ${callId} ${callText(tool, given)}`);
    printFact(cli, `    ${rules === 'allow' ? why : `the judge: ${judge?.reason ?? ''}`}`);
  }
  if (usage) printFact(cli, `The judge used ${usage.inputTokens + usage.outputTokens} tokens${costOf(usage)}.`);
}

function costOf({ costUsd = 0 }: Usage): string {
  return costUsd === null ? ', whose cost is not known' : ` ($${costUsd.toFixed(4)})`;
}
