import { fileURLToPath } from 'node:url';
import { startCrew, type Crew } from '../../scripts/chaos/crew.ts';
import { stillRunning } from '../../scripts/chaos/processes.ts';
import { randomFrom } from '../../scripts/chaos/random.ts';

const STAND_IN = fileURLToPath(new URL('stand-in.js', import.meta.url));

let surprises: string[];
let crews: Crew[];
beforeEach(() => {
  surprises = [];
  crews = [];
});
afterEach(async () => {
  for (const crew of crews) {
    await crew.stop();
    for (const name of crew.orphans()) if ((await stillRunning([name])).length > 0) process.kill(Number.parseInt(name, 10));
  }
});

async function crewOf(standIn: '' | 'ends' | 'fails', spares = true): Promise<Crew> {
  const launch = { program: STAND_IN, environment: { ...process.env, STAND_IN: standIn }, onSurprise: (what: string) => void surprises.push(what) };
  const crew = await startCrew({ launch, random: randomFrom(1), workers: 2, services: 1, spares });
  crews.push(crew);
  return crew;
}

const pidsOf = (crew: Crew, kind: 'worker' | 'service') => crew.members().flatMap((member) => (member.kind === kind ? [member.pid] : []));

test('who is killed has another in its place, which runs already', async () => {
  const crew = await crewOf('');
  const before = pidsOf(crew, 'worker');
  const killed = await crew.kill('worker');
  const after = pidsOf(crew, 'worker');
  expect(before).toContain(killed);
  expect(after).toHaveLength(2);
  expect(after).not.toContain(killed);
  expect(surprises).toEqual([]);
});

test('a process that was started by one that was killed is known, and is running as long as it runs', async () => {
  const crew = await crewOf('');
  await crew.kill('worker');
  const [orphan = ''] = crew.orphans();
  expect(await stillRunning(crew.orphans())).toEqual([orphan]);
  process.kill(Number.parseInt(orphan, 10));
  while ((await stillRunning([orphan])).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
});

test('requests go to a service that is ready, and to none when all have ended', async () => {
  const crew = await crewOf('', false);
  expect(crew.service()).toEqual({ host: '127.0.0.1', port: 1 });
  expect(await crew.stop()).toEqual([]);
  expect(crew.service()).toBeUndefined();
});

test('a process that ends by itself is reported, and one that does not stop as it should', async () => {
  await crewOf('ends', false);
  while (surprises.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(surprises.toSorted()[0]).toMatch(/^a service \(\d+\) ended by itself \(3\): Serving http:\/\/127\.0\.0\.1:1\. Its description: none$/);
  const failing = await crewOf('fails', false);
  expect((await failing.stop()).toSorted()[0]).toMatch(/^a service \(\d+\) that was asked to stop ended with 4$/);
});
