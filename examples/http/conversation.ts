/** Starts a conversation over HTTP, allows the calls that wait for a person, prints the reply, and closes the conversation. Needs nothing but `fetch`. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const { LONGSHORE_URL = 'http://127.0.0.1:8280', LONGSHORE_API_KEY = '', AGENT = 'fixer' } = process.env;
const headers = { authorization: `Bearer ${LONGSHORE_API_KEY}`, 'content-type': 'application/json' };
const PAUSE_MS = 1_000;

interface ConversationEvent {
  seq: number;
  type: string;
  data: { callId?: string; tool?: string; hash?: string };
}

class Refused extends Error {}

/** Sends a request until there is an answer. The key makes one request of its repetitions, so nothing is done twice. */
async function request<Answer>(path: string, body?: object): Promise<Answer> {
  const init = body ? { method: 'POST', headers: { ...headers, 'idempotency-key': randomUUID() }, body: JSON.stringify(body) } : { headers };
  for (;;) {
    const answer = await fetch(LONGSHORE_URL + path, init).catch(() => undefined);
    if (answer?.ok) return (await answer.json()) as Answer;
    if (answer && answer.status < 500) {
      const { detail, retryable } = (await answer.json()) as { detail: string; retryable: boolean };
      if (!retryable) throw new Refused(detail);
    }
    await sleep(PAUSE_MS);
  }
}

/** The events up to the end of the turn. After a cut, the stream goes on behind the last event that has come. */
async function* events(conversationId: string): AsyncGenerator<ConversationEvent> {
  let last = 0;
  for (;;) {
    try {
      const url = `${LONGSHORE_URL}/v1/conversations/${conversationId}/events?until=turn.finished`;
      const answer = await fetch(url, { headers: { ...headers, accept: 'text/event-stream', 'last-event-id': String(last) } });
      if (answer.status === 204) return;
      if (answer.status >= 400 && answer.status < 500) throw new Refused(await answer.text());
      for await (const event of eventsIn(answer)) {
        last = event.seq;
        yield event;
        if (event.type === 'turn.finished') return;
      }
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    await sleep(PAUSE_MS);
  }
}

/** The events of a stream. What a cut leaves half is left out, and comes again. */
async function* eventsIn({ body }: Response): AsyncGenerator<ConversationEvent> {
  let rest = '';
  for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (rest + text).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const data = frame.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) yield JSON.parse(data.slice('data: '.length)) as ConversationEvent;
    }
  }
}

const start = { agent: AGENT, user: 'user-42', message: 'Fix the failing test' };
const { conversationId } = await request<{ conversationId: string }>('/v1/conversations', start);
try {
  for await (const { type, data } of events(conversationId)) {
    if (type !== 'tool.approval-requested') continue;
    // A person decides here. The hash says to which call: one that was changed since is not allowed.
    await request(`/v1/approvals/${data.callId}`, { answer: 'allow-once', hash: data.hash, by: 'user-42' });
    console.log(`allowed ${data.tool}`);
  }
  const { turn } = await request<{ turn: { reply: string } }>(`/v1/conversations/${conversationId}/turn?wait=30`);
  console.log(turn.reply);
} finally {
  await request(`/v1/conversations/${conversationId}/close`, {});
}
