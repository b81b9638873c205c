import { createInterface } from 'node:readline/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chat } from '../../src/client.ts';
import type { ConversationEvent } from '../../src/contracts/events.ts';
import type { JsonObject } from '../../src/contracts/json.ts';
import type { Narrator } from './narrator.ts';
import { containerStatus, type TemporaryStack } from '../temporary-stack.ts';
import { startWorker, type WorkerProcess } from './worker-process.ts';
import { textOf } from './text-of.ts';

const FREEZE_AT_ROUND = 3;
const KILL_AT_ROUND = 6;
const FROZEN_MS = 2000;
const CLOSE_TIMEOUT_MS = 30_000;

/** Makes trouble while the agent works: kills its worker in mid-command, freezes it in mid-command, and answers for a person. */
export class Director {
  readonly #narrator: Narrator;
  readonly #stack: TemporaryStack;
  readonly #interactive: boolean;
  #worker: WorkerProcess | undefined;
  #act: 'running' | 'frozen' | 'resumed' | 'killed' | 'reattached' = 'running';
  workers = 0;
  kills = 0;
  pauses = 0;

  constructor(parts: { narrator: Narrator; stack: TemporaryStack; interactive: boolean }) {
    this.#narrator = parts.narrator;
    this.#stack = parts.stack;
    this.#interactive = parts.interactive;
  }

  async startWorker(): Promise<void> {
    this.#worker = startWorker(this.#stack.environment);
    this.workers += 1;
    await this.#worker.ready;
    this.#narrator.tell(`worker ${this.#worker.pid} takes work`);
  }

  /** Prints the conversation until its turn ends; returns how it ended. */
  async follow(chat: Chat): Promise<string> {
    const trouble: Promise<void>[] = [];
    for await (const event of chat.events()) {
      this.#narrator.event(event);
      if (event.type === 'tool.output') trouble.push(this.#watch(chat, textOf(event.data.text)));
      if (event.type === 'tool.approval-requested') trouble.push(this.#answer(chat, event));
      if (event.type !== 'turn.finished') continue;
      await Promise.all(trouble);
      if (event.data.outcome !== 'finished') this.#narrator.tell(`the turn ended: ${textOf(event.data.outcome)} ${textOf(event.data.message)}`, 'red');
      return textOf(event.data.outcome);
    }
    return 'closed';
  }

  /** Ends the conversation and waits until its sandbox is gone. */
  async close(chat: Chat): Promise<void> {
    await chat.close();
    for await (const event of chat.events({ signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS) })) if (event.type === 'conversation.closed') return;
    this.#narrator.tell('the conversation did not close', 'red');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.stop();
  }

  async #watch(chat: Chat, output: string): Promise<void> {
    const rounds = [...output.matchAll(/round (\d+)\//g)].map((match) => Number(match[1]));
    const last = rounds.at(-1);
    if (last === undefined) return;
    if (this.#act === 'running' && last >= FREEZE_AT_ROUND) return this.#freeze(chat);
    if (this.#act === 'resumed' && last >= KILL_AT_ROUND) return this.#killWorker();
    if (this.#act !== 'killed' || this.#worker === undefined) return;
    this.#act = 'reattached';
    this.#narrator.tell(`worker ${this.#worker.pid} has attached to the same command; it had gone on to round ${last} by itself`);
  }

  async #freeze(chat: Chat): Promise<void> {
    this.#act = 'frozen';
    await chat.pause({ mode: 'now', note: 'the demo' });
    await this.#until(async () => (await this.#container()).includes('Paused'));
    this.pauses += 1;
    this.#narrator.tell(`paused in mid-command; docker says: ${await this.#container()}`, 'red');
    await sleep(FROZEN_MS);
    this.#act = 'resumed';
    await chat.resume();
    this.#narrator.tell('resumed: the command goes on where it was');
  }

  async #killWorker(): Promise<void> {
    this.#act = 'killed';
    const victim = this.#worker;
    await victim?.kill();
    this.kills += 1;
    this.#narrator.tell(`kill -9 worker ${victim?.pid}, while a command runs; no worker follows the command now`, 'red');
    await this.startWorker();
  }

  async #answer(chat: Chat, { data }: ConversationEvent): Promise<void> {
    this.#narrator.tell(`approval needed for ${textOf(data.tool)} ${textOf((data.arguments as JsonObject | undefined)?.command)}: ${textOf(data.why)}`);
    const allowed = this.#interactive ? await askPerson() : true;
    await chat.approve({ callId: textOf(data.callId), hash: textOf(data.hash), answer: allowed ? 'allow-once' : 'deny', by: 'demo' });
    this.#narrator.tell(allowed ? 'approved, for this once' : 'denied');
  }

  #container(): Promise<string> {
    return containerStatus(this.#stack.config.LONGSHORE_INSTALLATION);
  }

  async #until(condition: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 100; tries++) {
      if (await condition()) return;
      await sleep(100);
    }
  }
}

async function askPerson(): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await prompt.question('          May it run? [y/n] ');
  prompt.close();
  return /^y/i.test(answer);
}
