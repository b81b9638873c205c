import { readFile } from 'node:fs/promises';
import { httpDocument } from '../../scripts/derived/http-document.ts';
import { httpReference } from '../../scripts/derived/http-reference.ts';

test('the reference of the HTTP API says what the OpenAPI document says; if not: npx tsx scripts/generate-schemas.ts', async () => {
  const page = await readFile(new URL('../../docs/reference/http-api.md', import.meta.url), 'utf8');
  expect(page).toBe(httpReference(await httpDocument()));
});
