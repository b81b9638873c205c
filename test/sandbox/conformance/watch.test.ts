import type { FileEvent, FileWatch } from '../../../src/sandbox/api/files.ts';
import { until } from '../lifecycle/support.ts';
import { BACKENDS } from './backends.ts';
import { at, handle, home, shell, useSandbox } from './sandbox.ts';

describe.each(BACKENDS)('a watch on %s', (_name, open) => {
  useSandbox(open);

  test('tells what is made, changed and removed, in new directories too', async () => {
    await using watch = await handle.watch(home, { recursive: true });
    const seen = collect(watch);
    const told = (type: string, path: string) => until(async () => seen.some((event) => event.type === type && event.path === at(path)), `${path} is ${type}`);
    await shell('mkdir sub; echo 1 > sub/file');
    await told('created', 'sub');
    // What comes and goes in a new directory before it can be watched cannot be reported.
    await told('created', 'sub/file');
    await shell('echo 2 >> sub/file');
    await told('changed', 'sub/file');
    await shell('rm sub/file');
    await told('removed', 'sub/file');
  });

  test('ends when what it watches is removed, and says so', async () => {
    await handle.createDirectory(at('gone'));
    const watch = await handle.watch(at('gone'));
    const seen = collect(watch);
    await handle.removeFile(at('gone'));
    await watch.closed;
    await until(async () => seen.length > 0, 'the end is told');
    expect(seen.at(-1)).toEqual({ type: 'removed', path: at('gone') });
    await expect(handle.watch(at('none'))).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  });
});

function collect(watch: FileWatch): FileEvent[] {
  const events: FileEvent[] = [];
  void (async () => {
    for await (const event of watch) events.push(event);
  })();
  return events;
}
