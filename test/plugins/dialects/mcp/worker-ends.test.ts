import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '../../../../src/platform/log.ts';
import { connectServer } from '../../../../src/plugins/dialects/mcp/connected-server.ts';
import { until } from '../../../sandbox/lifecycle/support.ts';
import { hostileProgram } from './support.ts';

test('a worker that ends while a server lists its tools ends the server', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  const asked = join(directory, 'asked');
  const program = hostileProgram(`on('tools/list', ({ id }) => {
    require('node:fs').writeFileSync(${JSON.stringify(asked)}, String(process.pid));
    setTimeout(() => reply(id, { tools: [] }), 500);
  });`);
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as Logger;
  const connected = connectServer({ name: 'fix', server: program, readEnvironment: () => undefined, log, onChange: () => undefined, isEnabled: true });
  const pid = () => Number(readFileSync(asked, 'utf8'));
  await until(async () => existsSync(asked) && pid() > 0, 'it is asked for its tools');
  await connected[Symbol.asyncDispose]();
  expect(() => process.kill(pid(), 0)).toThrow('ESRCH');
  await rm(directory, { recursive: true });
});

test('a worker that ends while a server is silent does not wait for it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  const asked = join(directory, 'asked');
  const program = hostileProgram(`on('server/discover', () => require('node:fs').writeFileSync(${JSON.stringify(asked)}, String(process.pid)));`);
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as Logger;
  const connected = connectServer({ name: 'fix', server: program, readEnvironment: () => undefined, log, onChange: () => undefined, isEnabled: true });
  const pid = () => Number(readFileSync(asked, 'utf8'));
  await until(async () => existsSync(asked) && pid() > 0, 'it is asked what it speaks');
  const begun = performance.now();
  await connected[Symbol.asyncDispose]();
  expect(performance.now() - begun).toBeLessThan(8_000);
  expect(() => process.kill(pid(), 0)).toThrow('ESRCH');
  await rm(directory, { recursive: true });
});
