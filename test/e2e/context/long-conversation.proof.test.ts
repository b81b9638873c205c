import { createHash } from 'node:crypto';
import type { Chat } from '../../../src/client.ts';
import { isFailure } from '../../../src/contracts/errors.ts';
import { makeId } from '../../../src/contracts/ids.ts';
import type { StoredEntry } from '../../../src/contracts/transcript.ts';
import { chatChunks, sendEvents, startProvider, type SeenRequest } from '../../models/provider-server.ts';
import { installAgents, type Installation, type WorkerProcess } from '../support.ts';

const TURNS = 40;
const STEPS = 10;
const KILLS = 8;
const WINDOW = 12_000;
/** In some turns the provider takes fewer tokens than the agent's file says. */
const SMALLER = 8_000;

interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content?: string | { type: string; text?: string }[] | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

const ruleOf = (turn: number) => `Rule ${turn}: berth ${turn} must never get more than ${turn * 37} tonnes, in "calm" <weather>.`;
const codeOf = (turn: number) => createHash('md5').update(`berth-${turn}`).digest('hex').slice(0, 12);
const textOf = ({ content }: Message) => (typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n'));
const tokensOf = (body: unknown) => Math.ceil(JSON.stringify(body).length / 4);

/** A model that knows only its prompt: what it does next is said by the newest message. It checks each prompt. */
class Harbour {
  readonly problems: string[] = [];
  prompts = 0;
  summaries = 0;
  refusals = 0;
  largest = 0;

  answer(body: SeenRequest['body']): { tokens: number; deltas: Record<string, unknown>[] } | 'too long' {
    const messages = body['messages'] as unknown as Message[];
    const tokens = tokensOf(body);
    if (messages.some((message) => message.role === 'system' && textOf(message).startsWith('You sum up'))) return { tokens, deltas: [this.summary(messages)] };
    const turn = this.turnOf(messages);
    if (tokens > (turn % 5 === 0 ? SMALLER : WINDOW)) {
      this.refusals += 1;
      return 'too long';
    }
    this.prompts += 1;
    this.largest = Math.max(this.largest, tokens);
    this.check(messages, turn);
    return { tokens, deltas: [this.next(messages, turn)] };
  }

  private summary(messages: Message[]): Record<string, unknown> {
    this.summaries += 1;
    const rules = new Set(
      [
        ...messages
          .map(textOf)
          .join('\n')
          .matchAll(/Rule \d+: berth[^"\\]*/g),
      ].map(([rule]) => rule.trim()),
    );
    return {
      role: 'assistant',
      content: `## Goal\nFill the berths.\n## Constraints\n${[...rules].map((rule) => `- "${rule}"`).join('\n')}\n## Open work\nThe next berth.`,
    };
  }

  private turnOf(messages: Message[]): number {
    return Math.max(
      0,
      ...messages.flatMap((message) => (message.role === 'user' ? [...textOf(message).matchAll(/Turn (\d+)\./g)].map(([, turn]) => Number(turn)) : [])),
    );
  }

  private next(messages: Message[], turn: number): Record<string, unknown> {
    const last = messages.at(-1);
    const text = last ? textOf(last) : '';
    if (last?.role === 'tool') {
      const recalled = /code of berth \d+ is ([0-9a-f]{12})/.exec(text)?.[1];
      const done = /turn \d+ step (\d+)/.exec(text)?.[1];
      const asked = this.askedFor(messages);
      if (asked !== undefined) return { role: 'assistant', content: `It is ${recalled ?? 'not known'}.` };
      return Number(done) + 1 < STEPS - 1 ? this.work(turn, Number(done) + 1) : { role: 'assistant', content: `Turn ${turn} is done.` };
    }
    const asked = this.askedFor(messages);
    return asked === undefined ? this.work(turn, 0) : call('context__recall', { query: `code of berth ${asked} is` });
  }

  private askedFor(messages: Message[]): number | undefined {
    const said = messages
      .filter(({ role }) => role === 'user')
      .map(textOf)
      .join('\n');
    const turn = said.lastIndexOf('Turn ');
    const question = /What is the code of berth (\d+)\?(?![\s\S]*What is the code of berth)/.exec(said);
    return question && question.index > turn ? Number(question[1]) : undefined;
  }

  private work(turn: number, step: number): Record<string, unknown> {
    const fact = step === 4 ? `; echo "code of berth ${turn} is $(printf 'berth-%s' ${turn} | md5sum | cut -c1-12)"` : '';
    return call('shell__run', { command: `echo "turn ${turn} step ${step}"${fact}; seq 1 300; echo ${turn}.${step} >> done.txt` });
  }

  private check(messages: Message[], turn: number): void {
    const said = messages
      .filter(({ role }) => role === 'user')
      .map(textOf)
      .join('\n');
    for (let past = 1; past <= turn; past += 1) if (!said.includes(ruleOf(past))) this.problems.push(`turn ${turn}: rule ${past} is not in the prompt`);
    const seen = new Set<string>();
    for (const [index, { role, tool_calls: calls = [], tool_call_id: id }] of messages.entries()) {
      const results = messages.slice(index + 1, index + 1 + calls.length);
      if (results.map((result) => result.tool_call_id).join() !== calls.map((one) => one.id).join())
        this.problems.push(`turn ${turn}: a call without its result`);
      for (const one of calls) seen.add(one.id);
      if (role === 'tool' && !seen.delete(id ?? '')) this.problems.push(`turn ${turn}: a result without its call, or a second one`);
    }
  }
}

function call(name: string, input: object): Record<string, unknown> {
  return { role: 'assistant', tool_calls: [{ index: 0, id: `p${Math.random()}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }] };
}

const harbour = new Harbour();
let provider: Awaited<ReturnType<typeof startProvider>>;
let installation: Installation;
beforeAll(async () => {
  provider = await startProvider((response, { body }) => {
    const answer = harbour.answer(body);
    if (answer === 'too long') {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: `This model's maximum context length is ${SMALLER} tokens.`, code: 'context_length_exceeded' } }));
      return;
    }
    const chunks = chatChunks(answer.deltas as never).map((chunk) => {
      const usage = { prompt_tokens: answer.tokens, completion_tokens: 20, total_tokens: answer.tokens + 20 };
      return typeof chunk !== 'string' && 'usage' in chunk ? { ...chunk, usage } : chunk;
    });
    sendEvents(response, chunks);
  });
  installation = await installAgents({
    pilot: {
      model: 'openai-compatible/harbour',
      modelOptions: { baseUrl: `${provider.url}/v1` },
      tools: ['shell:run'],
      context: { window: WINDOW, keepTurns: 2 },
      budget: { turns: 200, steps: 100, tokens: 100_000_000 },
      steps: [{ say: 'Not used.' }],
    },
  });
}, 180_000);
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
}, 180_000);

/** Kills the worker at random moments and starts another one in its place, so many times. */
async function killWorkers(first: WorkerProcess, isOver: () => boolean): Promise<number> {
  let worker = first;
  let kills = 0;
  for (; kills < KILLS && !isOver(); kills += 1) {
    await new Promise((resolve) => setTimeout(resolve, 2_000 + Math.random() * 4_000));
    await worker.kill();
    worker = installation.startWorker();
    await worker.ready;
  }
  return kills;
}

/** Says it once, however often it has to be repeated: a worker that is killed with a workflow task in hand keeps the conversation for ten seconds. */
async function say(chat: Chat, text: string): Promise<void> {
  const messageId = makeId('msg', Date.now(), Math.random);
  for (;;) {
    try {
      await chat.send(text, { messageId });
      return;
    } catch (error) {
      if (!isFailure(error, 'NO_WORKER')) throw error;
    }
  }
}

function resultsByCall(transcript: StoredEntry[]): number[] {
  const results = transcript.flatMap(({ entry }) => (entry.role === 'tool' ? [entry.callId] : []));
  const calls = transcript.flatMap(({ entry }) =>
    entry.role === 'assistant' ? entry.parts.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : [])) : [],
  );
  return calls.map((callId) => results.filter((result) => result === callId).length);
}

test('400 steps in a small window, with workers killed: every rule is in every prompt, and every fact is recalled', async () => {
  const worker = installation.startWorker();
  await worker.ready;
  await using chat = await installation.longshore.start({ agent: 'pilot', user: 'ann' });
  let over = false;
  const killing = killWorkers(worker, () => over);
  for (let turn = 1; turn <= TURNS; turn += 1) {
    await say(chat, `Turn ${turn}. ${ruleOf(turn)}`);
    expect(await chat.reply()).toBe(`Turn ${turn} is done.`);
  }
  for (let turn = 1; turn <= TURNS; turn += 1) {
    await say(chat, `What is the code of berth ${turn}?`);
    expect(await chat.reply()).toBe(`It is ${codeOf(turn)}.`);
  }
  over = true;
  expect(await killing).toBe(KILLS);
  expect(harbour.problems).toEqual([]);
  expect(harbour.refusals).toBeGreaterThan(0);
  expect(harbour.largest).toBeLessThanOrEqual(WINDOW);

  const transcript = await chat.transcript();
  const results = resultsByCall(transcript);
  expect(results).toHaveLength(TURNS * (STEPS - 1) + TURNS);
  expect(results.every((count) => count === 1)).toBe(true);
  expect(transcript.filter(({ entry }) => entry.role === 'assistant').length).toBe(TURNS * STEPS + TURNS * 2);
  const compactions = await installation.store.compactions.list(chat.id);
  expect(new Set(compactions.map(({ reason }) => reason))).toEqual(new Set(['full', 'too-long']));
  expect(harbour.summaries).toBeGreaterThan(0);
  // A worker that is killed while its model answers asks again: nothing else does.
  expect(harbour.prompts).toBeLessThanOrEqual(TURNS * (STEPS + 2) + KILLS);
}, 900_000);
