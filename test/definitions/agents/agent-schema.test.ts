import { readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import { agentJsonSchema } from '../../../src/definitions/agents/agent-schema.ts';

const file = new URL('../../../schemas/agent.schema.json', import.meta.url);

test('schemas/agent.schema.json is current (repair it with: npx tsx scripts/generate-schemas.ts)', async () => {
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(agentJsonSchema());
});

test('an editor accepts what the worker accepts, and marks what it refuses', () => {
  const validate = new Ajv({ strict: false, logger: false }).compile(agentJsonSchema());
  expect(validate({ model: 'a/b', sandbox: { idle: { freeze: '30s', stop: 0 } }, budget: { turns: 3 }, maxRunningTurns: 2 })).toBe(true);
  for (const wrong of [
    {},
    { model: 'a' },
    { model: 'a/b', tool: [] },
    { model: 'a/b', sandbox: { idle: { freeze: '30 s' } } },
    { model: 'a/b', budget: { turns: 0 } },
    { model: 'a/b', maxRunningTurns: 0 },
  ]) {
    expect(validate(wrong)).toBe(false);
  }
});
