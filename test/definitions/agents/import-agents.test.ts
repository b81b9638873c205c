import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent } from '../../../src/definitions/agents/define-agent.ts';
import { loadAgents } from '../../../src/definitions/agents/load-agents.ts';
import { notImported } from '../../../src/definitions/parse/import-definition.ts';

test('a module that cannot be imported is named, with the line and what to do', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-agents-'));
  await writeFile(join(directory, 'thrown.mjs'), "const a = 1;\nthrow new Error('no key');\nexport default a;");
  await expect(loadAgents(directory)).rejects.toMatchObject({
    code: 'AGENT_INVALID',
    message: 'thrown.mjs:2: (the whole file): cannot be imported (no key). Correct it',
  });
  await rm(directory, { recursive: true });
  const unread = Object.assign(new TypeError('Unknown file extension ".ts" for /agents/coded.ts'), { code: 'ERR_UNKNOWN_FILE_EXTENSION' });
  expect(notImported('/agents/coded.ts', 'AGENT_INVALID', unread).message).toMatch(
    /^coded\.ts: \(the whole file\): cannot be imported \(.*\)\. Node reads TypeScript from 22\.18 on: use it, start the program with tsx, or write a \.mjs file$/,
  );
});

test('a module with an agent as its default export is an agent file too', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-agents-'));
  const agent = defineAgent({ id: 'coded', model: 'a/b', tools: [] });
  await writeFile(join(directory, 'coded.mjs'), `export default ${JSON.stringify(agent)};`);
  expect((await loadAgents(directory)).get('coded')).toEqual(agent);
  await writeFile(join(directory, 'other.mjs'), 'export const agent = 1;');
  await expect(loadAgents(directory)).rejects.toThrow(
    'other.mjs: (the whole file): has no agent as its default export. Write: export default defineAgent({ … })',
  );
  await rm(directory, { recursive: true });
});
