import * as fc from 'fast-check';
import { isFailure } from '../../../src/contracts/errors.ts';
import type { SandboxHandle } from '../../../src/sandbox/api/sandbox.ts';
import type { Sandboxes } from '../../../src/sandbox/api/host-sandboxes.ts';
import { createTestSandboxes, describeWithGvisor, output, type TestSandboxes } from './support.ts';

/** More of them, and others, are a matter of the environment. */
const OPERATIONS = Number(process.env['LONGSHORE_TEST_OPERATIONS'] ?? 120);
const SEED = Number(process.env['LONGSHORE_TEST_SEED'] ?? 4711);
const ROUND = 24;
/** Of one operation, on a busy machine. Whatever waits for a sandbox that rests is woken long before. */
const LIMIT_MS = 60_000;
const RESUME_EVERY_MS = 700;
/** What an operation may meet when the sandbox is stopped under it. */
const DOCUMENTED = ['SANDBOX_LOST', 'SANDBOX_CONFLICT', 'EXEC_NOT_FOUND'];
const STATUS: Record<string, string[]> = { running: ['running'], frozen: ['paused'], hibernated: ['exited', 'created'], stopped: ['exited', 'created'] };

interface Actor {
  id: string;
  sandboxes: Sandboxes;
  handle: SandboxHandle;
}
type Operation = (actor: Actor, number: number) => Promise<unknown>;
const OPERATION: Record<string, Operation> = {
  run: ({ handle }, number) => handle.run(`echo ${number}`, { execId: `e${number}` }).then(({ stdout }) => expect(stdout.text).toBe(`${number}\n`)),
  long: ({ handle }, number) => handle.run('sleep 0.4; echo done', { execId: `e${number}` }).then(({ stdout }) => expect(stdout.text).toBe('done\n')),
  start: async ({ handle }, number) => {
    await handle.start('sleep 0.2', { execId: `e${number}` });
    expect(await handle.attach(`e${number}`)).toMatchObject({ status: 'exited', exitCode: 0 });
  },
  code: ({ handle }, number) =>
    handle.runCode(`${number} + 1`, { language: 'python', execId: `e${number}` }).then(({ status }) => expect(status).toBe('finished')),
  write: ({ handle }, number) => handle.writeFile(`f${number % 5}`, String(number)),
  freeze: ({ sandboxes, id }) => sandboxes.freeze(id),
  pause: ({ sandboxes, id }) => sandboxes.freeze(id, { mode: 'pause' }),
  wake: ({ sandboxes, id }) => sandboxes.wake(id),
  hibernate: ({ sandboxes, id }) => sandboxes.hibernate(id),
  stop: ({ sandboxes, id }) => sandboxes.stop(id),
  tier: ({ sandboxes, id }) => sandboxes.tier(id),
};
/** Most operations need the sandbox awake; rests are the rarer ones, as they end what the others do. */
const DRAWN = [...Object.keys(OPERATION), 'run', 'run', 'long', 'start', 'code', 'write', 'freeze', 'freeze', 'wake'];

let parts: TestSandboxes;
beforeAll(async () => {
  parts = await createTestSandboxes();
});
afterAll(() => parts[Symbol.asyncDispose]());

/** As a person would, who finds it paused. */
function resumeRegularly({ sandboxes, id }: Omit<Actor, 'handle'>): Disposable {
  const timer = setInterval(() => void sandboxes.wake(id).catch(() => undefined), RESUME_EVERY_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** The operation's outcome: an error that is none of the documented ones, or none in time, fails the test with what was going on. */
async function settle(name: string, number: number, working: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`operation ${number}, ${name}, has not settled within ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  try {
    await Promise.race([working, late]);
  } catch (error) {
    if (!isFailure(error) || !DOCUMENTED.includes(error.code)) throw new Error(`operation ${number}, ${name}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Row and container say the same, once nothing is under way. */
async function expectAgreed(id: string): Promise<void> {
  const row = await parts.store.sandboxes.get(id);
  const { State } = await parts.docker.getContainer(parts.containerName(id)).inspect();
  expect({ state: row?.state, status: State.Status }).toEqual({
    state: row?.state,
    status: expect.stringMatching(`^(${STATUS[row?.state ?? '']?.join('|')})$`) as string,
  });
}

async function play(runtime: 'runc' | 'runsc'): Promise<void> {
  const id = `sbx_stress_${runtime}`;
  const [one, other] = [parts.sandboxes, parts.another()];
  const actors: Actor[] = [];
  for (const sandboxes of [one, one, other])
    actors.push({ id, sandboxes, handle: (await sandboxes.open({ sandboxId: id, tenantId: 'tenant' }, { runtime })).handle });
  const step = fc.record({ name: fc.constantFrom(...DRAWN), actor: fc.nat({ max: actors.length - 1 }), atMs: fc.nat({ max: 1500 }) });
  const [steps = []] = fc.sample(fc.array(step, { minLength: OPERATIONS, maxLength: OPERATIONS }), { numRuns: 1, seed: SEED });
  for (let first = 0; first < steps.length; first += ROUND) {
    const round = steps.slice(first, first + ROUND).map(async ({ name, actor, atMs }, index) => {
      await new Promise((resolve) => setTimeout(resolve, atMs));
      const number = first + index;
      await settle(name, number, Promise.resolve(OPERATION[name]?.(actors[actor] ?? (actors[0] as Actor), number)));
    });
    const resuming = resumeRegularly({ id, sandboxes: parts.another() });
    try {
      await Promise.all(round);
    } finally {
      resuming[Symbol.dispose]();
      await Promise.allSettled(round);
    }
    // A wake that was asked for may come to its end a moment later.
    await one.open({ sandboxId: id, tenantId: 'tenant' }, { runtime });
    expect(await one.tier(id)).toBe('running');
    await expectAgreed(id);
    for (const { handle } of actors) expect(await output(handle, 'echo works')).toBe('works');
    expect(await one.freeze(id, { mode: 'pause' })).toBe('frozen');
    await expectAgreed(id);
  }
}

const TIME_LIMIT_MS = 120_000 + OPERATIONS * 5000;
const SAYS = 'overlapping operations of several handles settle in bounded time with a result or a documented error, and leave row and container agreed';
test(SAYS, () => play('runc'), TIME_LIMIT_MS);
describeWithGvisor('in gVisor', () => {
  test(SAYS, () => play('runsc'), TIME_LIMIT_MS);
});
