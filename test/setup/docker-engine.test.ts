import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { restartOwnEngine } from '../../src/setup/docker-engine.ts';

test('an engine that was not started from here is never restarted', async () => {
  expect(await restartOwnEngine({ logFile: join(tmpdir(), 'longshore-no-such-log'), log: () => undefined })).toBe('theirs');
});
