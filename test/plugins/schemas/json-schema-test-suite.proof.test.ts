import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Json, JsonObject } from '../../../src/contracts/json.ts';
import { createAnyCompiler } from '../../../src/plugins/schemas/compile-schema.ts';
import type { SchemaDraft } from '../../../src/plugins/schemas/schema-draft.ts';
import { createCompiler, type Check } from '../../../src/plugins/schemas/validate-arguments.ts';

interface Group {
  description: string;
  schema: JsonObject | boolean;
  tests: { description: string; data: Json; valid: boolean }[];
}

const SUITE = fileURLToPath(new URL('../../fixtures/json-schema-test-suite', import.meta.url));
const DRAFTS: [directory: string, dialect: SchemaDraft, $schema: string][] = [
  ['draft7', 'draft-07', 'http://json-schema.org/draft-07/schema#'],
  ['draft2019-09', '2019-09', 'https://json-schema.org/draft/2019-09/schema'],
  ['draft2020-12', '2020-12', 'https://json-schema.org/draft/2020-12/schema'],
];

/** Why the results of some tests are not those of the suite. A file stands for all of its tests. */
const EXCEPTIONS: [reason: string, file: string, ...groups: string[]][] = [
  ['documents that a schema refers to are never fetched', 'refRemote.json'],
  [
    'documents that a schema refers to are never fetched',
    'dynamicRef.json',
    'strict-tree schema, guards against misspelled properties',
    'tests for implementation dynamic anchor and reference link',
    '$ref and $dynamicAnchor are independent of order - $defs first',
    '$ref and $dynamicAnchor are independent of order - $ref first',
    '$ref to $dynamicRef finds detached $dynamicAnchor',
  ],
  ['a schema of schemas that is not fetched cannot leave out a vocabulary', 'vocabulary.json', 'schema that uses custom metaschema with with no validation vocabulary'],
  ['formats are checked, since authors of tools who write one mean it', 'format.json'],
  ['a key __proto__ is refused in any value', 'properties.json', 'properties whose names are Javascript object property names'],
  ['a key __proto__ is refused in any value', 'required.json', 'required properties whose names are Javascript object property names'],
];

function isExcepted(file: string, group: string): boolean {
  return EXCEPTIONS.some(([, where, ...groups]) => where === file && (groups.length === 0 || groups.includes(group)));
}

function makeCheck(compile: ReturnType<typeof createCompiler>, schema: JsonObject | boolean, dialect: SchemaDraft, $schema: string): Check | ((value: Json) => string[]) {
  if (typeof schema === 'boolean') return createAnyCompiler()({ schema, dialect, needsExact: false });
  return compile('suite', 'tool', 'parameters', { $schema, ...schema });
}

test.each(DRAFTS)('the official suite of %s', async (directory, dialect, $schema) => {
  const compile = createCompiler();
  const wrong: string[] = [];
  let [tests, excepted] = [0, 0];
  for (const file of await readdir(`${SUITE}/${directory}`)) {
    const groups = JSON.parse(await readFile(`${SUITE}/${directory}/${file}`, 'utf8')) as Group[];
    for (const { description: group, schema, tests: cases } of groups) {
      const check = isExcepted(file, group) ? undefined : makeCheck(compile, schema, dialect, $schema);
      for (const { description, data, valid } of cases) {
        tests += 1;
        excepted += check ? 0 : 1;
        const problems = (await check?.(data)) ?? [];
        if (check && (problems.length === 0) !== valid) wrong.push(`${file}: ${group}: ${description}: ${problems.join('; ') || 'no problem'}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(tests).toBeGreaterThan(900);
  expect(excepted / tests).toBeLessThan(0.15);
});
