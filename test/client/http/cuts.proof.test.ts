import { Client as Temporal, Connection } from '@temporalio/client';
import { connect, type Chat, type ConversationEvent, type Longshore } from '../../../src/client.ts';
import { isFailure } from '../../../src/contracts/errors.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { serve, type Server } from '../../api/serve.ts';
import { installAgents, until, type Installation } from '../../e2e/support.ts';
import { startUnsteadyProxy, type UnsteadyProxy } from '../../support/unsteady-proxy.ts';

/**
 * A client behind a network that cuts each connection after a few hundred bytes, whose service is killed from time to time: what it was told is true, each call has
 * taken effect once, or at most once where the client said that it does not know.
 */
const ROUNDS = 60;
const KILLS = 4;
const IN_DOUBT = 'whether the request took effect is not known';

let installation: Installation;
let server: Server;
let proxy: UnsteadyProxy;
let longshore: Longshore;
beforeAll(async () => {
  installation = await installAgents({ talker: { steps: Array.from({ length: 20 }, (_, at) => ({ say: `Answer ${at}. ${'Ahoy. '.repeat(20)}` })) } });
  await installation.startWorker().ready;
  server = await serve(installation);
  proxy = await startUnsteadyProxy(server.url, { random: Math.random, mostBytes: 2500 });
  const { text } = await installation.longshore.keys.create({ name: 'cut', scopes: ['admin'], tenant: 'north' });
  longshore = await connect({ url: proxy.url, apiKey: text });
}, 180_000);
afterAll(async () => {
  await longshore[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await server.stop();
  await installation[Symbol.asyncDispose]();
}, 180_000);

/** `doubt`: the client cannot know. Any other error than those of a service that cannot be reached is one of the test. */
async function told(call: Promise<unknown>): Promise<'done' | 'doubt' | 'not-done'> {
  try {
    await call;
    return 'done';
  } catch (error) {
    if (!isFailure(error)) throw error;
    if (!['SERVICE_UNREACHABLE', 'SERVICE_AWAY', 'IDEMPOTENCY_RUNNING'].includes(error.code)) throw error;
    return error.code === 'IDEMPOTENCY_RUNNING' || error.message.includes(IN_DOUBT) ? 'doubt' : 'not-done';
  }
}

async function signalsOf(conversationId: string, name: string): Promise<number> {
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = loadConfig(installation.environment);
  const connection = await Connection.connect({ address });
  const { events } = await new Temporal({ connection, namespace }).workflow.getHandle(conversationId).fetchHistory();
  await connection.close();
  return (events ?? []).filter(({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName === name).length;
}

/** Calls of one kind: how many the client said were done, and of how many it does not know. */
const counted = { done: 0, doubt: 0, 'not-done': 0 };
type Counts = typeof counted;

async function many(count: number, call: (at: number) => Promise<unknown>): Promise<Counts> {
  const counts = { ...counted };
  for (let at = 0; at < count; at += 1) counts[await told(call(at))] += 1;
  return counts;
}

function expectOnce(found: number, { done, doubt }: Counts): void {
  expect(found).toBeGreaterThanOrEqual(done);
  expect(found).toBeLessThanOrEqual(done + doubt);
}

/** Kills the service at random moments until the work is done, a few times at most. */
async function overKills<T>(work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const end = () => done.abort();
  void work.then(end, end);
  for (let kills = 0; kills < KILLS && !done.signal.aborted; kills += 1) {
    await new Promise((resolve) => setTimeout(resolve, 500 + Math.random() * 4_000));
    await server.kill();
    server = await serve(installation);
    proxy.leadTo(server.url);
  }
  return work;
}

test('each start, message and signal takes effect once; no event is lost or doubled', async () => {
  // Made without the unsteady network.
  const chat: Chat = await installation.longshore.start({ agent: 'talker', user: 'user-1', tenant: 'north' });
  const events: ConversationEvent[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for (;;) {
      try {
        for await (const event of longshore.events(chat.id, { afterSeq: events.at(-1)?.seq ?? 0, signal: stop.signal })) events.push(event);
        return;
      } catch (error) {
        // Only who has not been let in yet is told that the service is away.
        if (!isFailure(error, 'SERVICE_UNREACHABLE') && !isFailure(error, 'SERVICE_AWAY')) throw error;
      }
    }
  })();
  const [starts, resumes, sends, steps] = await overKills(
    Promise.all([
      many(ROUNDS, (at) => longshore.start({ agent: 'talker', user: `user-of-${at}` })),
      many(ROUNDS, () => longshore.resume(chat.id, { extraTurns: 1 })),
      many(15, (at) => longshore.send(chat.id, `Message ${at}`)),
      many(ROUNDS, () => longshore.stopAfterStep(chat.id)),
    ]),
  );
  const users = (await installation.longshore.list({ limit: 500 })).map(({ userId }) => userId).filter((userId) => userId.startsWith('user-of-'));
  expect(new Set(users).size).toBe(users.length);
  expectOnce(users.length, starts);
  // A signal is in the history only when the task of the workflow has ended that ran when it came.
  await installation.longshore.pause(chat.id);
  await until(async () => (await signalsOf(chat.id, 'pause')) === 1, 'the last signal is in the history');
  expectOnce(await signalsOf(chat.id, 'resume'), resumes);
  expectOnce(await signalsOf(chat.id, 'stopAfterStep'), steps);
  await installation.longshore.resume(chat.id);
  await until(async () => {
    const { state, queued } = await installation.longshore.status(chat.id);
    return state === 'idle' && queued === 0;
  }, 'the messages are answered');
  await installation.longshore.close(chat.id);
  proxy.calm();
  await reading;
  const said = (await installation.longshore.transcript(chat.id)).flatMap(({ entry }) => (entry.role === 'user' ? [JSON.stringify(entry)] : []));
  expectOnce(said.length, sends);
  expect(new Set(said).size).toBe(said.length);
  const log: ConversationEvent[] = [];
  for (let page = await installation.store.events.read(chat.id, 0); page.length > 0; page = await installation.store.events.read(chat.id, log.at(-1)!.seq))
    log.push(...page);
  expect(events.map(({ seq }) => seq)).toEqual(log.map(({ seq }) => seq));
  expect(proxy.cuts()).toBeGreaterThan(50);
  for (const { done } of [starts, resumes, sends, steps]) expect(done).toBeGreaterThan(5);
}, 480_000);
