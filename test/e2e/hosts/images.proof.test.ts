import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { builtCommandLine } from '../../support/built-programs.ts';
import { ownTemplates } from '../../support/own-templates.ts';
import { runLine } from '../../cli/support.ts';
import { installAgents, resultsOf, until, type Installation } from '../support.ts';
import { LOST, missing, secondEngine, serverOfBuilds, testWithTwoEngines, titled } from './second-engine.ts';

const run = promisify(execFile);

/** What a build of the template asks for: it is counted, and may fail. */
const asked = { count: 0, status: 200 };

let server: Awaited<ReturnType<typeof serverOfBuilds>>;
let engine: Awaited<ReturnType<typeof secondEngine>>;
let installation: Installation;
let templates: AsyncDisposable;

const line = (...args: string[]) => runLine(installation.longshore, args, { environment: { ...installation.environment, ...LOST } });

/** A conversation that has used its sandbox: where, and the results of its calls. */
async function converse() {
  const chat = await installation.longshore.start({ agent: 'counted', user: 'user-1', message: 'Begin.' });
  await chat.reply();
  const row = await installation.store.sandboxes.ofConversation(chat.id);
  const results = await resultsOf(chat);
  await chat.close();
  return { hostId: row?.hostId, results };
}

describe('two hosts with an engine each, and a template whose builds are counted', () => {
  beforeAll(async () => {
    if (missing !== undefined) return;
    server = await serverOfBuilds((_request, response) => {
      asked.count += 1;
      response.writeHead(asked.status).end();
    });
    const ask = `python3 -c "import urllib.request as r; r.urlopen('${server.url}')"`;
    templates = await ownTemplates({ counted: JSON.stringify({ memoryMb: 200, pool: 1, setup: [ask, 'echo built > /home/user/of-image'] }) });
    engine = await secondEngine();
    await server.reachableFrom(engine.processId());
    installation = await installAgents({
      counted: { sandbox: { template: 'counted' }, steps: [{ call: 'shell:run', with: { command: 'cat of-image' } }, { say: 'Done.' }] },
    });
  }, 300_000);
  afterAll(async () => {
    if (missing !== undefined) return;
    await installation[Symbol.asyncDispose]();
    await engine[Symbol.asyncDispose]();
    await templates[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  testWithTwoEngines(
    titled('a host builds the image once, and another host builds its own; where that fails, calls say so, and go on when it was built there'),
    async () => {
      const first = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'first' });
      await first.ready;
      expect(asked.count).toBe(1);
      expect(await converse()).toEqual({ hostId: 'first', results: [expect.objectContaining({ stdout: 'built\n' })] });

      asked.status = 500;
      const second = installation.startWorker({ ...LOST, LONGSHORE_HOST_ID: 'second', DOCKER_HOST: engine.host });
      await second.ready;
      expect(asked.count).toBe(2);
      for (let count = 1; count <= 4; count += 1) expect(await converse()).toMatchObject({ hostId: 'first', results: [{ stdout: 'built\n' }] });
      expect((await line('hosts', 'drain', 'first')).code).toBe(0);
      const refused = await converse();
      expect(refused.results[0]?.['text']).toMatch(
        /The image of template "counted" is not on host "second" \(longshore-template:counted-\w+\)\. Build it there: longshore template build counted/,
      );

      asked.status = 200;
      const build = [await builtCommandLine(), 'template', 'build', 'counted'];
      const environment = { ...installation.environment, DOCKER_HOST: engine.host };
      const builds = await Promise.all([1, 2].map(() => run(process.execPath, build, { env: environment })));
      const said = builds.map(({ stdout }) => /^counted: (.*) \(longshore-template:counted-\w+\)\.$/m.exec(stdout)?.[1] ?? stdout);
      expect(said.toSorted((one, other) => one.localeCompare(other))).toEqual(['built', 'is built']);
      expect(asked.count).toBe(3);
      expect(await converse()).toMatchObject({ hostId: 'second', results: [{ stdout: 'built\n' }] });
      await until(async () => (await installation.store.sandboxes.list({ hostId: 'second', states: ['warm'] })).length === 1, 'its pool is filled as well');

      // Other workers of both hosts find it.
      const more = [{ LONGSHORE_HOST_ID: 'first' }, { LONGSHORE_HOST_ID: 'second', DOCKER_HOST: engine.host }];
      await Promise.all(more.map((each) => installation.startWorker({ ...LOST, ...each }).ready));
      expect(asked.count).toBe(3);
    },
    300_000,
  );
});
