import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Files that make regular expressions of text that is not written in the same place, and why that text is no stranger's. */
const ALLOWED: Record<string, string> = {
  'models/check-expectation.ts': 'the script of the scripted model, which an operator writes beside the agent',
  'plugins/bundle/not-in-a-compartment.ts': 'names from a table of this file, and a property of letters, digits and _',
  'sandbox/output/clean-output.ts': 'constants of this file',
  'sandbox/protocol/validate-messages.ts': 'constants of this file, escaped',
  'sandbox/egress/http/message-head.ts': 'constants of this file',
  'models/scripted-model.ts': 'a constant of this file',
  'plugins/dialects/mcp/connection/program-transport.ts': 'constants of this file',
  'plugins/dialects/shared/python/requirements.ts': 'constants of this file',
};

test('regular expressions are made of text in few places only, none of which takes it from a stranger', async () => {
  const files = (await readdir('src', { recursive: true })).filter((file) => /\.(ts|cjs|mjs|js)$/.test(file));
  const made = await Promise.all(files.map(async (file) => ((await readFile(join('src', file), 'utf8')).match(/\bRegExp\s*\(/g) ? [file] : [])));
  expect(made.flat().toSorted()).toEqual(Object.keys(ALLOWED).toSorted());
});

test('YAML is read in one place only, which limits sizes, nesting and aliases', async () => {
  const files = (await readdir('src', { recursive: true })).filter((file) => file.endsWith('.ts'));
  const reading = await Promise.all(
    files.map(async (file) =>
      /import \{[^}]*\bparse(?:Document|AllDocuments)?\b[^}]*\} from 'yaml'/.test(await readFile(join('src', file), 'utf8')) ? [file] : [],
    ),
  );
  expect(reading.flat()).toEqual(['common/yaml-document.ts']);
});
