import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { runLine } from '../../cli/support.ts';
import { installAgents, resultsOf, until, type Installation, type ScriptedStep } from '../support.ts';

/** A service of rates at a private address. */
const rates = createServer((request, response) => {
  const to = new URL(request.url ?? '', 'http://localhost').searchParams.get('symbols') ?? '';
  response.end(JSON.stringify({ date: '2026-01-02', rates: { [to]: 1.25 } }));
});
let installation: Installation;

beforeAll(async () => {
  rates.listen(0, '127.0.0.1');
  await once(rates, 'listening');
  const read = async (path: string) => parse(await readFile(resolve('examples/agents', path), 'utf8')) as Record<string, unknown>;
  const { plugins, tools } = await read('treasurer.yaml');
  const { steps, repeat } = (await read('scripts/treasurer.yaml')) as { steps: ScriptedStep[]; repeat: boolean };
  const paths = (plugins as { path: string }[]).map((entry) => ({ ...entry, path: resolve('examples/agents', entry.path) }));
  installation = await installAgents({ treasurer: { tools, plugins: paths, approval: [], steps: repeat ? [...steps, ...steps] : steps } });
  installation.environment['RATES_URL'] = `http://localhost:${(rates.address() as AddressInfo).port}`;
  installation.environment['LONGSHORE_PLUGIN_ADDRESSES'] = '127.0.0.1, ::1';
  installation.environment['LONGSHORE_PLUGIN_IDLE'] = '500ms';
  await installation.startWorker().ready;
});
afterAll(async () => {
  rates.close();
  await installation[Symbol.asyncDispose]();
});

const plugins = async (...args: string[]) => (await runLine(installation.longshore, ['plugins', ...args])).out;

test('the example agent converts and splits money with a plugin of Pandora, which sleeps after that and is woken by the next message', async () => {
  const { longshore } = installation;
  await longshore.plugins.configure('currency', { source: 'own' });
  const { host } = new URL(installation.environment['RATES_URL'] ?? '');
  await until(async () => (await plugins('show', 'currency')).includes(`: Rates come from ${host}.`), 'the alert of its configuration is shown');
  const chat = await longshore.start({ agent: 'treasurer', user: 'user-1', message: 'Convert and split.' });
  expect(await chat.reply()).toBe('Your money is converted, and everybody has a share.');
  expect(await resultsOf(chat)).toEqual([{ amount: 150, currency: 'USD', rate: 1.25, date: '2026-01-02' }, { shares: [33.34, 33.33, 33.33] }]);
  await until(async () => /currency +1\.0\.0 +pandora +sleeping +2 +network env/.test(await plugins('ls')), 'the plugin sleeps');
  const { turnId } = await chat.send('Again.');
  expect(await chat.reply(turnId)).toBe('Your money is converted, and everybody has a share.');
  expect(await resultsOf(chat)).toHaveLength(4);
  await chat.close();
});
