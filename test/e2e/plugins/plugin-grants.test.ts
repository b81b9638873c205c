import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runLine } from '../../cli/support.ts';
import { installAgents, resultsOf, until, type Installation } from '../support.ts';

let installation: Installation;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longshore-e2e-grants-'));
  await writeFile(
    join(directory, 'index.ts'),
    `import { definePlugin, defineTool } from 'longshore/plugins';
    export default definePlugin({ id: 'harbour', version: '1', tools: [defineTool({ id: 'name', description: 'Tells the name', parameters: { type: 'object' },
      permissions: { time: true, env: ['HARBOUR'], network: ['api.harbour.example'] },
      async execute(_, { env }) { return { name: env.HARBOUR, year: new Date().getFullYear() > 2000 }; } })] });`,
  );
  installation = await installAgents({ pilot: { plugins: [directory], tools: ['harbour:*'], steps: [{ call: 'harbour:name' }, { say: 'Named.' }] } });
  Object.assign(installation.environment, { NODE_ENV: 'production', HARBOUR: 'Whitby' });
  await installation.startWorker().ready;
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

const line = (...args: string[]) => runLine(installation.longshore, ['plugins', ...args]);
const report = async () => (await installation.longshore.plugins.get('harbour')).reports[0];

test('in production a plugin is denied until the line of its error was run, works after it, and is taken away when that is revoked', async () => {
  const denied = await report();
  const entry = 'permissions: { network: [api.harbour.example], env: [HARBOUR], time: true }';
  const command = 'longshore plugins grant harbour --network api.harbour.example --env HARBOUR';
  expect(denied).toMatchObject({
    health: 'failed',
    error:
      'Plugin "harbour": its tool "name" asks for the permission network for "api.harbour.example"; its tool "name" asks for the permission env for "HARBOUR", ' +
      `and no operator granted them. To grant them: ${command}; or write ${entry} at the plugin's entry in the agent's file`,
  });
  const shown = await line('show', 'harbour');
  expect(shown.out).not.toContain('granted by operators');
  expect(shown.out).toContain(
    '  permissions  {"network":["api.harbour.example"],"env":["HARBOUR"],"time":true}\n  granted      {"time":true}\n' +
      '  denied       {"network":["api.harbour.example"],"env":["HARBOUR"]}\n',
  );
  expect(await line('grant', 'harbour')).toMatchObject({ code: 2, err: '--all: no permission is named. Give --all, or some of --network, --env and --fs\n' });
  expect(await line('grant', 'harbour', '--all', '--time')).toMatchObject({ code: 2, err: expect.stringContaining('cannot be combined with') as string });
  expect(await line('grant', 'harbour', '--network', 'https://x')).toMatchObject({ code: 2, err: expect.stringContaining('Has to be a host name') as string });
  expect(await line('grant', 'harbour', '--fs', 'srv')).toMatchObject({ code: 2, err: expect.stringContaining('Has to be an absolute path') as string });
  expect(await line('grant', 'nothing', '--all')).toMatchObject({ code: 2, err: expect.stringContaining('No plugin "nothing"') as string });
  expect(await line('revoke', 'harbour')).toMatchObject({ code: 2, err: expect.stringContaining('nothing was granted to it here') as string });

  const granted = await line(...command.split(' ').slice(2));
  expect(granted).toMatchObject({
    code: 0,
    out:
      'granted to harbour: {"network":["api.harbour.example"],"env":["HARBOUR"]}; the workers apply it within seconds. ' +
      'See the result: longshore plugins show harbour\n',
  });
  expect((await line('show', 'harbour')).out).toContain('granted by operators: {"network":["api.harbour.example"],"env":["HARBOUR"]}\n');
  await until(async () => (await report())?.health === 'loaded', 'the worker has loaded it');
  const chat = await installation.longshore.start({ agent: 'pilot', user: 'user-1', message: 'Where?' });
  expect(await chat.reply()).toBe('Named.');
  expect((await resultsOf(chat))[0]).toEqual({ name: 'Whitby', year: true });

  expect(await line('revoke', 'harbour', '--env', 'OTHER')).toMatchObject({
    code: 2,
    err: expect.stringContaining('{"env":["OTHER"]} was not granted') as string,
  });
  expect(JSON.parse((await line('revoke', 'harbour', '--env', 'HARBOUR', '--json')).out)).toEqual({
    plugin: 'harbour',
    revoked: { env: ['HARBOUR'] },
    now: { network: ['api.harbour.example'] },
  });
  await until(async () => (await report())?.health === 'failed', 'the worker has taken it away');
  expect(JSON.parse((await line('grant', 'harbour', '--all', '--json')).out)).toMatchObject({
    granted: { network: ['api.harbour.example'], env: ['HARBOUR'], time: true },
  });
  await until(async () => (await report())?.health === 'loaded', 'the worker has loaded it again');
  expect((await line('show', 'harbour')).out).not.toContain('denied');
});
