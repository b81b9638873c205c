import { setTimeout as sleep } from 'node:timers/promises';
import { between, oneOf } from '../random.ts';
import type { Run } from '../scenario.ts';
import { seconds } from '../seconds.ts';
import type { World } from '../world.ts';

const MOST_DROPS = 6;
const DROP_LIMIT_MS = 10_000;

/** Loses some connections to a server, one after the other, as their clients speak. */
export async function lose({ random, ways }: World, say: Run['say']): Promise<void> {
  const server = oneOf(random.faults, ['postgres', 'temporal'] as const);
  const when = oneOf(random.faults, ['before', 'after'] as const);
  const count = 1 + Math.floor(random.faults() * MOST_DROPS);
  const before = ways[server].dropped();
  for (let number = 0; number < count; number += 1) {
    ways[server].dropNext(when);
    await sleep(between(random.faults, 0, 300));
  }
  for (const end = Date.now() + DROP_LIMIT_MS; ways[server].dropped() < before + count && Date.now() < end;) await sleep(20);
  say(`${ways[server].dropped() - before} connections to ${server} were lost ${when} a message was received`);
}

/** Cuts off one server or both, for one of the given times, and says what it did. */
export async function cutOff({ random, ways }: World, lengthsMs: readonly number[]): Promise<string> {
  const servers = oneOf(random.faults, [['postgres'], ['temporal'], ['postgres', 'temporal']] as const);
  const how = oneOf(random.faults, ['cut', 'silence'] as const);
  const lengthMs = oneOf(random.faults, lengthsMs);
  for (const server of servers) ways[server][how]();
  await sleep(lengthMs);
  for (const server of servers) ways[server].heal();
  return `a ${how} of ${seconds(lengthMs)} of ${servers.join(' and ')}`;
}
