import { Client as TemporalClient, Connection } from '@temporalio/client';
import { Client } from 'pg';
import type { Chat } from '../../src/client.ts';
import { startBenchWorker } from '../bench-worker.ts';
import { compare, timed, type Measurement } from '../measure.ts';
import type { BenchParts } from '../parts.ts';

const EARLY = 100;
const LATE = 1_000;
const TURNS = 10_000;
/** Turns, and reads of the status, that are timed at each length. */
const SAMPLES = 40;

/** Turns that are only rows: what `from` to `to` would have stored. */
const ADD_TURNS = [
  `insert into transcript (conversation_id, seq, key, turn_id, step_id, at, entry)
     select $1, place.seq + 2 * (n - $2::int) + part, n || '/' || part, 'turn_' || n, case part when 2 then 'step_' || n end, now(),
       case part when 1 then '{"role":"user","content":[{"type":"text","text":"Ahoy."}]}'
         else '{"role":"assistant","parts":[{"type":"text","text":"Ahoy."}],"usage":{"inputTokens":1,"outputTokens":1},"finishReason":"stop"}' end::json
     from (select max(seq) as seq from transcript where conversation_id = $1) place, generate_series($2::int, $3::int) n, generate_series(1, 2) part`,
  `insert into events (conversation_id, seq, at, turn_id, type, data)
     select $1, place.seq + 4 * (n - $2::int) + part, now(), 'turn_' || n, (array['message.received', 'turn.started', 'text.done', 'turn.finished'])[part],
       '{"outcome":"completed","text":"Ahoy."}'
     from (select max(seq) as seq from events where conversation_id = $1) place, generate_series($2::int, $3::int) n, generate_series(1, 4) part`,
  `insert into model_calls (conversation_id, step_id, turn_id, tenant_id, agent_id, user_id, model, input_tokens, output_tokens)
     select conversation_id, 'step_' || n, 'turn_' || n, tenant_id, agent_id, user_id, 'scripted', 1, 1 from conversations, generate_series($2::int, $3::int) n
     where conversation_id = $1`,
  `update conversations set transcript_seq = transcript_seq + 2 * ($3::int - $2::int + 1), event_seq = event_seq + 4 * ($3::int - $2::int + 1) where conversation_id = $1`,
];

/**
 * One turn of a long conversation, and its status, against the same after a hundred turns. The first thousand turns are real, and go over several runs of the
 * workflow. The others up to ten thousand are rows.
 */
export async function measureLongConversation(parts: BenchParts): Promise<Measurement[]> {
  await using worker = await startBenchWorker(parts);
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, DATABASE_URL } = parts.stack.config;
  const connection = await Connection.connect({ address });
  const chat = await worker.longshore.start({ agent: 'greeter', user: 'bench' });
  const runOf = async () => (await new TemporalClient({ connection, namespace }).workflow.getHandle(chat.id).describe()).runId;
  const sample = async () => {
    const turns: number[] = [];
    const statuses: number[] = [];
    for (let count = 0; count < SAMPLES; count += 1) {
      turns.push(await timed(() => takeTurn(chat)));
      statuses.push(await timed(() => parts.store.conversations.get(chat.id)));
    }
    return { turns, statuses };
  };
  const firstRun = await runOf();
  for (let turn = 0; turn < EARLY - SAMPLES; turn += 1) await takeTurn(chat);
  const early = await sample();
  for (let turn = EARLY; turn < LATE - SAMPLES; turn += 1) await takeTurn(chat);
  const late = await sample();
  if ((await runOf()) === firstRun) throw new Error(`the workflow has not continued as new in ${LATE} turns`);
  await addTurns(DATABASE_URL, chat.id);
  const last = await sample();
  await chat.close();
  await connection.close();
  const baselineIs = `the same at turn ${EARLY}`;
  return [
    compare({ name: `turn ${LATE}`, goal: 1.1, unit: 'ms', baselineIs }, { subject: late.turns, baseline: early.turns }),
    compare({ name: `turn ${TURNS}`, unit: 'ms', baselineIs }, { subject: last.turns, baseline: early.turns }),
    compare({ name: `status at turn ${TURNS}`, unit: 'ms', baselineIs }, { subject: last.statuses, baseline: early.statuses }),
  ];
}

async function takeTurn(chat: Chat): Promise<void> {
  const { turnId } = await chat.send('Ahoy.');
  await chat.reply(turnId);
}

async function addTurns(url: string, conversationId: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  for (const statement of ADD_TURNS) {
    const values: (string | number)[] = [conversationId, LATE + 1, TURNS - SAMPLES];
    await client.query(statement, values);
  }
  await client.query('vacuum analyze transcript, events, model_calls');
  await client.end();
}
