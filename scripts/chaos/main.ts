/**
 * Breaks a real installation while conversations work in it, and checks what has to hold: see --help. It starts all servers itself, and touches no others.
 *   npm run chaos [-- SCENARIO... --seed NUMBER --minutes NUMBER]
 */
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { inTime } from '../../src/common/in-time.ts';
import { isFailure } from '../../src/contracts/errors.ts';
import { ALL_KINDS } from './kinds/all-kinds.ts';
import { takeLeftovers } from './take-leftovers.ts';
import type { Scenario } from './scenario.ts';
import { clocks } from './scenarios/clocks.ts';
import { cuts } from './scenarios/cuts.ts';
import { disks } from './scenarios/disks.ts';
import { hosts } from './scenarios/hosts.ts';
import { interruptedCuts } from './scenarios/interrupted-cuts.ts';
import { interrupts } from './scenarios/interrupts.ts';
import { kills } from './scenarios/kills.ts';
import { memory } from './scenarios/memory.ts';
import { pauses } from './scenarios/pauses.ts';
import { slips } from './scenarios/slips.ts';
import { soak } from './scenarios/soak.ts';
import { createVerdict, RULES, summaryOf } from './verdict.ts';
import { forgetOtherInstallations, openWorld, type World } from './world.ts';

const SCENARIOS: Record<string, Scenario> = { kills, cuts, pauses, interrupts, 'interrupted-cuts': interruptedCuts, slips, hosts, disks, memory, clocks, soak };
const DEFAULT = ['kills', 'cuts'];
/** Beyond the minutes: conversations that are under way end, and all is counted. */
const ENDING_MS = 8 * 60_000;

const HELP = `Breaks a real installation while conversations work in it, and checks what has to hold.
Usage: npm run chaos [-- SCENARIO... OPTIONS]

Scenarios (without one: ${DEFAULT.join(', ')}):
${Object.entries(SCENARIOS)
  .map(([name, { summary, minutes }]) => `  ${name}  ${summary} ${minutes} minutes.`)
  .join('\n')}

Options:
  --seed NUMBER     the same choices again; the moments at which they fall differ a little
  --minutes NUMBER  how long faults or load go on; then conversations that are under way end
  --kinds NAME,…    only conversations of these kinds, where the scenario has them: see scripts/chaos/kinds
  --logs DIRECTORY  keep the logs of workers and services there
  --program FILE    the program longshore (default: dist/cli/main.js, which npm run chaos builds)
  --help

Rules:
${Object.entries(RULES)
  .map(([rule, text]) => `  ${rule}: ${text}`)
  .join('\n')}

It starts Temporal, Postgres, workers and services of its own, and ends them. The exit code is 1 when a rule is broken, 2 for wrong arguments.`;

interface Arguments {
  names: string[];
  seed: number;
  minutes: number | undefined;
  kinds: ReadonlySet<string> | undefined;
  logs: string | undefined;
  program: string;
}

async function run(name: string, scenario: Scenario, { seed, minutes = scenario.minutes, kinds, logs, program }: Arguments): Promise<boolean> {
  const missing = await scenario.missing?.();
  if (missing !== undefined) {
    console.error(`${name} cannot run here: ${missing}`);
    return false;
  }
  const begun = performance.now();
  const say = (line: string) => console.log(`${((performance.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${line}`);
  const command = `npm run chaos -- ${name} --seed ${seed} --minutes ${minutes}${kinds ? ` --kinds ${[...kinds].join()}` : ''}`;
  console.log(`${name}: ${scenario.summary}\nrepeat it with: ${command}`);
  const verdict = createVerdict(say);
  {
    using interruption = endWhenTold();
    const opening = openWorld({ ...scenario, seed, program, kinds, logs, verdict, say, interrupted: interruption.signal });
    interruption.ends(opening);
    await using world = await opening;
    say(`the installation ${world.installation} is up`);
    const limitMs = minutes * 60_000 + ENDING_MS;
    await inTime(scenario.run(world, { verdict, say, minutes }), limitMs, () => new Error(`the scenario has not ended after ${limitMs / 1000} s`)).catch(
      (error: unknown) => verdict.add({ rule: 'lost', what: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    );
    await takeLeftovers(world, verdict, say);
  }
  for (const line of summaryOf(verdict.problems, [...scenario.rules, 'ended', 'left'])) console.log(line);
  const count = verdict.problems.length;
  console.log(count === 0 ? `${name}: all rules hold` : `${name}: ${count} problems; repeat it with: ${command}`);
  return count === 0;
}

/** Ends this program when it is told to, after all that it has begun. */
function endWhenTold() {
  const told = new AbortController();
  let opened: Promise<World> | undefined;
  const end = () => {
    if (told.signal.aborted) return;
    told.abort();
    // What the scenario still does fails now, and must not end this program before all has ended.
    process.on('unhandledRejection', () => undefined);
    void Promise.resolve(opened)
      .then((world) => world?.[Symbol.asyncDispose]())
      .catch((error: unknown) => console.error(error))
      .finally(() => process.exit(130));
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  // The servers end themselves where nothing else listens.
  for (const signal of signals) process.on(signal, end);
  return {
    signal: told.signal,
    ends: (world: Promise<World>) => void (opened = world),
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, end);
    },
  };
}

/** @throws TypeError, RangeError for arguments that cannot be used */
function argumentsOf(given: string[]): Arguments | 'help' {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({
    args: given,
    allowPositionals: true,
    options: { seed: text, minutes: text, kinds: text, logs: text, program: { ...text, default: 'dist/cli/main.js' }, help: { type: 'boolean' } },
  });
  if (values.help) return 'help';
  const unknown = positionals.find((name) => !Object.hasOwn(SCENARIOS, name));
  if (unknown !== undefined) throw new RangeError(`there is no scenario "${unknown}": use ${Object.keys(SCENARIOS).join(', ')}`);
  const seed = numberOf('--seed', values.seed, (number) => Number.isInteger(number) && number >= 0 && number < 2 ** 31);
  const minutes = numberOf('--minutes', values.minutes, (number) => number > 0 && number <= 24 * 60);
  return {
    names: positionals.length === 0 ? DEFAULT : positionals,
    seed: seed ?? Math.floor(Math.random() * 2 ** 31),
    minutes,
    kinds: values.kinds === undefined ? undefined : kindsOf(values.kinds),
    logs: values.logs === undefined ? undefined : resolve(values.logs),
    program: resolve(values.program),
  };
}

function kindsOf(text: string): ReadonlySet<string> {
  const names = text.split(',');
  const unknown = names.find((name) => !Object.hasOwn(ALL_KINDS, name));
  if (unknown !== undefined) throw new RangeError(`there is no kind "${unknown}": use ${Object.keys(ALL_KINDS).join(', ')}`);
  return new Set(names);
}

function numberOf(option: string, text: string | undefined, isUsable: (number: number) => boolean): number | undefined {
  if (text === undefined) return undefined;
  if (text.trim() === '' || !isUsable(Number(text))) throw new RangeError(`${option}: "${text}" cannot be used`);
  return Number(text);
}

try {
  const given = argumentsOf(process.argv.slice(2));
  if (given === 'help') console.log(HELP);
  else {
    forgetOtherInstallations(process.env);
    if (given.logs !== undefined) await mkdir(given.logs, { recursive: true });
    for (const name of given.names) if (!(await run(name, SCENARIOS[name]!, given))) process.exitCode = 1;
  }
} catch (error) {
  const isWrong = error instanceof RangeError || error instanceof TypeError;
  console.error(isWrong || isFailure(error) ? error.message : error);
  process.exitCode = isWrong ? 2 : 1;
}
