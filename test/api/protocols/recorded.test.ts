import { readdir, readFile, writeFile } from 'node:fs/promises';
import { readUIMessageStream, uiMessageChunkSchema, type UIMessage, type UIMessageChunk } from 'ai';
import { beginCompletion, mapEvent as toCompletion, mapRest as restOfCompletion, type CompletionPart } from '../../../src/api/protocols/openai/map-event.ts';
import { mapEvent, mapRest } from '../../../src/api/protocols/ui-stream/map-event.ts';
import { uiMessagesOf } from '../../../src/api/protocols/ui-stream/ui-messages.ts';
import { uiPageOf } from '../../../src/api/routes/ui-page.ts';
import { beginMessage, startPart } from '../../../src/api/protocols/ui-stream/ui-state.ts';
import { createUiView } from '../../../src/api/protocols/ui-stream/ui-view.ts';
import { frameOf } from '../../../src/api/stream/event-frames.ts';
import type { ConversationEvent } from '../../../src/contracts/events.ts';

/**
 * Event logs of real conversations (scripts/record-conversations.ts) and what the protocols make of them. With LONGSHORE_TEST_GOLDEN=write, the expected
 * answers are written anew: look at what changed.
 */
const DIRECTORY = new URL('./recorded/', import.meta.url);
const writes = process.env['LONGSHORE_TEST_GOLDEN'] === 'write';
const files = (await readdir(DIRECTORY)).filter((file) => file.endsWith('.events.json'));
const scenes = files.map((file) => file.slice(0, -'.events.json'.length));
const logOf = async (scene: string) => JSON.parse(await readFile(new URL(`${scene}.events.json`, DIRECTORY), 'utf8')) as ConversationEvent[];
const turnsOf = (log: ConversationEvent[]) => log.flatMap(({ type, turnId }) => (type === 'turn.started' && turnId !== undefined ? [turnId] : []));
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Compares with the file, or writes it. */
async function expectFile(name: string, value: unknown): Promise<void> {
  const file = new URL(name, DIRECTORY);
  if (writes) await writeFile(file, `${JSON.stringify(value, undefined, 2)}\n`);
  expect(plain(value)).toEqual(JSON.parse(await readFile(file, 'utf8')));
}

/** The parts of a turn; `rests` says where a stream would end, were the log as long as that. */
function partsOf(log: ConversationEvent[], turnId: string) {
  const { conversationId = '' } = log[0] ?? {};
  let state = beginMessage(conversationId, turnId);
  const parts: UIMessageChunk[] = [startPart(conversationId, turnId)];
  const rests: { seq: number; parts: UIMessageChunk[] }[] = [];
  for (const event of log) {
    const [next, more] = mapEvent(state, event);
    state = next;
    parts.push(...more);
    const rest = mapRest(state);
    if (rest) rests.push({ seq: event.seq, parts: rest });
  }
  return { parts, rests };
}

function completionOf(log: ConversationEvent[], turnId: string): CompletionPart[] {
  let state = beginCompletion(log[0]?.conversationId ?? '', turnId);
  const parts: CompletionPart[] = [];
  for (const event of log) {
    const [next, more] = toCompletion(state, event);
    state = next;
    parts.push(...more);
    const rest = restOfCompletion(state);
    if (rest) return [...parts, ...rest];
  }
  return parts;
}

/** The message that the AI SDK makes of parts. */
async function messageOf(parts: UIMessageChunk[]): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream, onError: () => undefined })) last = message;
  return last;
}

async function* each<T>(values: T[]): AsyncGenerator<T> {
  yield* values;
}

test('each kind of conversation is recorded', () => {
  expect(scenes).toEqual(['approval', 'beside', 'budget', 'code-asks', 'failed', 'lost-result', 'retry', 'sandbox', 'steer-and-queue', 'stopped', 'text']);
});

describe.each(scenes)('%s', (scene) => {
  test('is shown in the UI message stream as recorded', async () => {
    const log = await logOf(scene);
    await expectFile(
      `${scene}.ui.json`,
      turnsOf(log).map((turnId) => partsOf(log, turnId)),
    );
  });

  test('is answered as a chat completion as recorded', async () => {
    const log = await logOf(scene);
    await expectFile(
      `${scene}.completion.json`,
      turnsOf(log).map((turnId) => completionOf(log, turnId)),
    );
  });

  test('has only parts that version 6 of the AI SDK knows, of which its client makes the messages of the first sight', async () => {
    const log = await logOf(scene);
    const schema = uiMessageChunkSchema();
    const streamed: unknown[] = [];
    for (const turnId of turnsOf(log)) {
      const { parts } = partsOf(log, turnId);
      for (const part of parts) expect(await schema.validate?.(part)).toMatchObject({ success: true });
      streamed.push(plain(await messageOf(parts)));
    }
    const seen = await uiMessagesOf(log[0]?.conversationId ?? '', each(log));
    // Of an answer that was begun again, the first sight has the last beginning only.
    if (scene !== 'retry') expect(plain(seen.filter(({ role }) => role === 'assistant'))).toEqual(streamed);
    expect(seen.filter(({ role }) => role === 'assistant')).toHaveLength(turnsOf(log).length);
  });

  test('pages of messages are together the messages of the first sight, of any length', async () => {
    const log = await logOf(scene);
    const starts = log.filter(({ type, data }) => type === 'turn.started' || (type === 'message.received' && !(data as { steers: boolean }).steers));
    const parts = {
      store: {
        events: {
          messageStarts: async (_id: string, { before = Infinity, limit }: { before?: number; limit: number }) =>
            starts.map(({ seq }) => seq).filter((seq) => seq < before).toReversed().slice(0, limit), // prettier-ignore
        },
        // None of them is a fork.
        forks: { get: async () => undefined },
      },
      readFrames: async (_id: string, after: number) => log.filter(({ seq }) => seq > after).map(frameOf),
    } as unknown as Parameters<typeof uiPageOf>[0];
    const whole = plain(await uiMessagesOf(log[0]?.conversationId ?? '', each(log)));
    for (const limit of [1, 2, 3, 200]) {
      const pages: unknown[] = [];
      for (let before: number | undefined = Infinity; before !== undefined;) {
        const { messages, next } = await uiPageOf(parts, log[0]?.conversationId ?? '', { limit, ...(before !== Infinity && { before }) });
        expect(messages.length).toBeLessThanOrEqual(limit);
        pages.unshift(...messages);
        before = next;
      }
      expect(plain(pages)).toEqual(whole);
    }
  });

  test('a stream that begins where another one ended gives the rest, and both together are the whole', async () => {
    const log = await logOf(scene);
    const frames = log.map(frameOf);
    for (const turnId of turnsOf(log)) {
      const begin = () => beginMessage(log[0]?.conversationId ?? '', turnId);
      const whole = createUiView({ state: begin(), seenSeq: 0 }).show(frames).text.split('\n\n');
      for (const { seq } of partsOf(log, turnId).rests) {
        const first = createUiView({ state: begin(), seenSeq: 0 });
        const head = first.show(frames.slice(0, seq)).text.split('\n\n').slice(0, -1);
        const tail = createUiView({ state: begin(), seenSeq: seq }).show(frames).text.split('\n\n').slice(1);
        const outputs = (text: string) => text.includes('"preliminary":true');
        expect([...head, ...tail].filter((text) => !outputs(text))).toEqual(whole.filter((text) => !outputs(text)));
      }
    }
  });
});
