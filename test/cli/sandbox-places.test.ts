import { createTestDatabase } from '../support/databases.ts';
import { runLine } from './support.ts';

test.each(['sbx_none', 'sbx-none', 'conv_none'])('%s:/path is a place in a sandbox', async (id) => {
  await using database = await createTestDatabase();
  const environment = { ...process.env, DATABASE_URL: database.url };
  const { code, err } = await runLine(undefined, ['sandbox', 'cp', `${id}:/tmp/x`, './here'], { environment });
  expect([code, err]).toEqual([1, expect.stringContaining(`"${id}"`)]);
  expect(err).not.toContain('has to be in a sandbox');
});
