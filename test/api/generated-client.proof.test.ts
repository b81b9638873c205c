import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/platform/run-command.ts';
import { install, type Installation } from '../e2e/support.ts';
import { startApi, type TestApi } from './support.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAM = join(ROOT, 'test/fixtures/generated-client/drive-conversation.ts');
/** As strict as the library of the generator can be used. */
const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    noUnusedLocals: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ['*.ts'],
};

let installation: Installation;
let service: TestApi;
let place: string;
beforeAll(async () => {
  installation = await install([{ call: 'shell:run', with: { command: 'echo 3' }, expect: { exitCode: 0 } }, { say: 'Three.' }], {
    approval: [{ tool: '*', decide: 'ask' }],
  });
  await installation.startWorker().ready;
  service = await startApi(installation);
  place = await mkdtemp(join(tmpdir(), 'longshore-client-'));
}, 180_000);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await installation[Symbol.asyncDispose]();
  await rm(place, { recursive: true });
}, 180_000);

const run = async (program: string, ...args: string[]) => {
  const { authorization } = await service.key();
  const env = { LONGSHORE_API_KEY: authorization.replace('Bearer ', '') };
  return runCommand(process.execPath, [...program.split(' '), ...args], { cwd: place, env, timeoutMs: 100_000 });
};

test('a client that a generator makes of the document is type-checked, and drives a conversation: start, approval, turn, events, close', async () => {
  await symlink(join(ROOT, 'node_modules'), join(place, 'node_modules'));
  await writeFile(join(place, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(join(place, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  await writeFile(join(place, 'openapi.json'), await (await fetch(`${service.url}/openapi.json`)).text());
  await copyFile(PROGRAM, join(place, 'drive-conversation.ts'));
  const tools = { generate: 'node_modules/oazapfts/dist/cli.js openapi.json client.ts', check: 'node_modules/typescript/bin/tsc -p .' };
  for (const tool of Object.values(tools)) {
    const { code, stdout, stderr } = await run(tool);
    expect({ tool, code, said: code === 0 ? '' : stdout + stderr }).toEqual({ tool, code: 0, said: '' });
  }
  const { code, stdout, stderr } = await run('--import tsx drive-conversation.ts', service.url);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const seen = JSON.parse(stdout) as { types: string[] };
  expect(seen).toMatchObject({ answer: 'allow', outcome: 'finished', reply: 'Three.', closed: 202, code: 'CONVERSATION_NOT_FOUND' });
  expect(seen.types).toEqual(expect.arrayContaining(['conversation.started', 'tool.approval-requested', 'tool.finished', 'turn.finished']));
}, 180_000);
