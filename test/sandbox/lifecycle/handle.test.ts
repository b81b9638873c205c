import { pino } from 'pino';
import type { DockerContext } from '../../../src/sandbox/lifecycle/base/docker-context.ts';
import { createWakingHandle } from '../../../src/sandbox/lifecycle/handle.ts';
import type { Work } from '../../../src/sandbox/lifecycle/base/work.ts';
import { createWork } from '../../../src/sandbox/lifecycle/rest/create-work.ts';

const DIRECTORY = { path: '/', type: 'directory', size: 0 };

/** A handle on a sandbox with a live stream, which answers when `answered` says so; the looks at its row are counted. */
function handleOf(answered: (looked: Promise<void>) => Promise<void>) {
  const looks = { count: 0 };
  let tell = () => {};
  const looked = new Promise<void>((resolve) => (tell = resolve));
  const connection = { fileInfo: () => answered(looked).then(() => DIRECTORY) };
  const context: Record<string, unknown> & { work: Work } = {
    connections: {
      isOpen: () => true,
      isCertain: async () => true,
      use: (_target: unknown, operation: (given: typeof connection) => Promise<unknown>) => operation(connection),
      refresh: async () => {},
    },
    rows: {
      touch: async () => {},
      async get() {
        looks.count += 1;
        tell();
        return { state: 'running' };
      },
    },
    log: pino({ level: 'silent' }),
    work: createWork(() => context as unknown as DockerContext),
  };
  // Only what the handle uses of them.
  const handle = createWakingHandle(context as unknown as DockerContext, { sandboxId: 'sbx_1', containerName: 'one' });
  return { handle, looks };
}

test('a sandbox that answers at once is not looked up in the database', async () => {
  const { handle, looks } = handleOf(async () => {});
  await handle.fileExists('/');
  expect(looks.count).toBe(0);
});

test('a sandbox that does not answer is looked up, since it may be frozen', async () => {
  const { handle, looks } = handleOf((looked) => looked);
  await handle.fileExists('/');
  expect(looks.count).toBe(1);
});
