import { setTimeout as sleep } from 'node:timers/promises';
import { get } from 'node:http';
import { startBenchWorker } from '../bench-worker.ts';
import { compareWithLimit, timed, type Measurement } from '../measure.ts';
import type { BenchParts } from '../parts.ts';
import { proportionalSetSizeMib } from '../process-memory.ts';
import { openClient, startService } from './service.ts';

const READERS = 1_000;
const AT_ONCE = 100;
const EVENTS = 10;
const MEMORY_MIB = 60;
const ALL_HAVE_IT_MS = 1_000;
/** The collector of the service has time to end its work. */
const SETTLED_MS = 10_000;

/** 1,000 readers of events while nothing happens: what they take of the service's memory, and how long an event takes to reach all of them. */
export async function measureHttpStreams(parts: BenchParts): Promise<Measurement[]> {
  await using worker = await startBenchWorker(parts);
  await using service = await startService(parts);
  const { longshore } = worker;
  const { authorization } = await openClient(longshore, service);
  await longshore.limits.set({ tenant: 'bench', streams: READERS });
  const { id } = await longshore.start({ agent: 'greeter', user: 'bench', tenant: 'bench' });
  const readers = createReaders(`${service.url}/v1/conversations/${id}/events`, authorization);
  await readers.open(AT_ONCE);
  await readers.close();
  await sleep(SETTLED_MS);
  const before = await proportionalSetSizeMib(service.pid);
  for (let open = 0; open < READERS; open += AT_ONCE) await readers.open(AT_ONCE);
  await sleep(SETTLED_MS);
  const grown = (await proportionalSetSizeMib(service.pid)) - before;
  const times: number[] = [];
  for (let event = 0; event < EVENTS; event++) {
    const text = `event ${event};`;
    const all = readers.untilAllHave(text);
    const append = () => parts.store.events.append(id, [{ type: 'text.delta', data: { text } }]);
    times.push(await timed(async () => Promise.all([append(), all])));
  }
  await readers.close();
  await longshore.close(id);
  return [
    compareWithLimit({ name: 'http-streams-memory', unit: 'MiB', limit: MEMORY_MIB }, [grown]),
    compareWithLimit({ name: 'http-streams-event', unit: 'ms', limit: ALL_HAVE_IT_MS }, times),
  ];
}

function createReaders(url: string, authorization: string) {
  const ends = new Set<() => Promise<void>>();
  let onText: (text: string) => void = () => {};
  const openOne = async () => {
    const request = get(url, { agent: false, headers: { authorization, accept: 'text/event-stream' } });
    await new Promise<void>((resolve, reject) => {
      request.once('error', reject).once('response', (response) => {
        if (response.statusCode !== 200) reject(new Error(`a reader was refused with ${response.statusCode}`));
        response.on('data', (chunk: Buffer) => onText(chunk.toString()));
        response.on('error', () => undefined);
        ends.add(async () => {
          const closed = new Promise((isClosed) => response.once('close', isClosed));
          request.destroy();
          await closed;
        });
        resolve();
      });
    });
    request.on('error', () => undefined);
  };
  return {
    open: (count: number) => Promise.all(Array.from({ length: count }, openOne)),
    /** Resolves when so many readers as are open have got the text. */
    untilAllHave: (text: string) =>
      new Promise<void>((resolve) => {
        let missing = ends.size;
        onText = (got) => {
          if (got.includes(text) && --missing === 0) resolve();
        };
      }),
    async close() {
      await Promise.all([...ends].map((end) => end()));
      ends.clear();
    },
  };
}
