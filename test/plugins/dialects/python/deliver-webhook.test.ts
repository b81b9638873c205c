import { failure } from '../../../../src/contracts/errors.ts';
import type { ServerAnswer } from '../../../../src/sandbox/api/host-methods.ts';
import { deliverWebhook } from '../../../../src/plugins/dialects/shared/python/deliver-webhook.ts';

const MADE = '2026-11-28T00:00:00.000Z';
const server = { name: 'plugin-1', version: '1' };

interface Given {
  /** What calls answer, one after the other. */
  answers?: (ServerAnswer | Error)[];
  begunAt?: Date;
  filesLostAt?: string;
  /** The state of the call in the journal. */
  journal?: 'running' | 'ended' | 'lost';
  wanted?: boolean;
  attempts?: number;
  aborted?: boolean;
}

function bench({ answers = [], begunAt, filesLostAt, journal, wanted = true, attempts = 0, aborted = false }: Given) {
  const did: unknown[] = [];
  const handle = {
    execs: async () => (journal === undefined ? [] : [{ execId: `req_1-${attempts + 1}`, state: journal }]),
    async callServer(_server: object, { params }: { params: object }, { execId, asStarted }: { execId: string; asStarted?: boolean }) {
      did.push([asStarted ? 'attach' : 'call', execId, params]);
      const answer = answers.shift() ?? { outcome: 'answered', result: {}, server };
      if (answer instanceof Error) throw answer;
      return answer;
    },
    forget: async (execId: string) => void did.push(['forget', execId]),
  };
  const own = {
    open: async (tenantId: string) => (did.push(['open', tenantId]), { handle, held: true }),
    find: async () => ({ createdAt: MADE, ...(filesLostAt !== undefined && { filesLostAt }) }),
    forget: () => void did.push('drop'),
  };
  const reached = { own, server: () => ({ name: 'plugin-1' }), settings: () => ({}) };
  const begin = async () => (wanted ? (begunAt ?? new Date('2026-11-28T01:00:00Z')) : undefined);
  const about = { requestId: 'req_1', tenantId: 'north', endpoint: 'ship', headers: { a: 'b' }, body: Buffer.from('hi'), attempts };
  const signal = aborted ? AbortSignal.abort() : new AbortController().signal;
  const work = () => deliverWebhook(reached as never, { ...about, ...(begunAt && { begunAt }), begin, signal });
  const calls = () => did.filter((each) => Array.isArray(each) && (each[0] === 'call' || each[0] === 'attach')).map((each) => (each as string[]).slice(0, 2));
  return { work, did, calls };
}

test('the function is called in the sandbox of the tenant, as an exec that is named after the request', async () => {
  const { work, did } = bench({ attempts: 2 });
  const { result, forget } = await work();
  expect(result).toEqual({ outcome: 'delivered' });
  const params = { name: 'webhook:ship', arguments: { headers: { a: 'b' }, body: Buffer.from('hi').toString('base64') } };
  expect(did).toEqual([
    ['open', 'north'],
    ['call', 'req_1-3', params],
  ]);
  await forget();
  expect(did.at(-1)).toEqual(['forget', 'req_1-3']);
});

const NOT_KNOWN = { outcome: 'failed', problem: expect.stringMatching(/so it is not known whether it took effect$/) as string };
test.each<[string, ServerAnswer, object]>([
  [
    'a failure of the function',
    { outcome: 'answered', result: { failed: 'RuntimeError: broken' }, server },
    { outcome: 'failed', problem: 'RuntimeError: broken' },
  ],
  [
    'an unusable answer',
    { outcome: 'answered', result: { failed: 1 }, server },
    { outcome: 'failed', problem: expect.stringMatching(/^its answer is not usable/) as string },
  ],
  ['no such function', { outcome: 'refused', code: -32602, message: 'no webhook' }, { outcome: 'failed', problem: 'no webhook' }],
  ['a plugin that cannot be loaded', { outcome: 'refused', code: -32000, message: 'ImportError' }, { outcome: 'postponed', problem: 'ImportError' }],
  ['no process', { outcome: 'absent', why: 'it ended' }, { outcome: 'postponed', problem: 'the plugin cannot be started: it ended' }],
  ['too long', { outcome: 'timeout' }, { outcome: 'failed', problem: 'it took longer than 120000 ms, and the plugin was told to stop it' }],
  ['killed', { outcome: 'killed' }, { outcome: 'failed', problem: 'it was ended from outside' }],
  ['a process that ended meanwhile', { outcome: 'gone', why: 'it ended' }, NOT_KNOWN],
])('%s has this outcome', async (_what, answer, result) => {
  expect((await bench({ answers: [answer] }).work()).result).toEqual(result);
});

test('an attempt that was begun is attached to; it is not known how it went when the journal says that the container died, or is gone', async () => {
  const begunAt = new Date('2026-11-28T01:00:00Z');
  const again = bench({ begunAt, journal: 'running' });
  expect([(await again.work()).result, again.calls()]).toEqual([{ outcome: 'delivered' }, [['call', 'req_1-1']]]);
  for (const lost of [{ journal: 'lost' as const }, { filesLostAt: '2026-11-28T02:00:00.000Z' }]) {
    const { work, calls } = bench({ begunAt, ...lost });
    expect([(await work()).result, calls()]).toEqual([NOT_KNOWN, []]);
  }
  const removed = bench({ begunAt: new Date('2026-11-27T00:00:00Z') });
  expect([(await removed.work()).result, removed.calls()]).toEqual([NOT_KNOWN, []]);
});

test('a container that died before the call is replaced; a call that another version of the plugin has is attached to', async () => {
  const stale = bench({ answers: [failure('SANDBOX_LOST', { sandboxId: 'plugin-1', problem: 'it died' })] });
  expect((await stale.work()).result).toEqual({ outcome: 'delivered' });
  expect(stale.did).toContain('drop');
  expect(stale.calls()).toEqual([['call', 'req_1-1'], ['call', 'req_1-1']]); // prettier-ignore
  const other = bench({ answers: [failure('EXEC_MISMATCH', { execId: 'req_1-1' })] });
  expect([(await other.work()).result, other.calls()]).toEqual([{ outcome: 'delivered' }, [['call', 'req_1-1'], ['attach', 'req_1-1']]]); // prettier-ignore
});

test('what cannot be reached is tried by another worker, and a worker that ends tries nothing again', async () => {
  const away = () => failure('DOCKER_UNAVAILABLE', { problem: 'no engine' });
  await expect(bench({ answers: [away(), away()] }).work()).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' });
  const ending = bench({ answers: [away()], aborted: true });
  await expect(ending.work()).rejects.toMatchObject({ code: 'DOCKER_UNAVAILABLE' });
  expect(ending.calls()).toHaveLength(1);
});

test('a request whose address was removed meanwhile calls nothing', async () => {
  const { work, calls } = bench({ wanted: false });
  expect([(await work()).result, calls()]).toEqual([{ outcome: 'dropped' }, []]);
});
