import { kernelLines } from '../../../src/cli/machine/doctor-kernel.ts';

const settings = (values: Record<string, string>) => async (name: string) => {
  const value = values[name];
  if (value === undefined) throw new Error('ENOENT');
  return `${value}\n`;
};

test('limits of the kernel that one guest can use up for others are named with their values', async () => {
  const low = { 'fs.epoll.max_user_watches': '5423185', 'fs.inotify.max_user_instances': '1000000000', 'fs.pipe-user-pages-soft': '16384' };
  const [line, ...others] = await kernelLines(settings(low));
  expect(others).toEqual([]);
  expect(line).toMatchObject({
    name: 'Kernel limits',
    ok: 'warning',
    found: 'sandboxes of this host share them under runc, so one can use them up: fs.epoll.max_user_watches is 5423185, fs.pipe-user-pages-soft is 16384',
  });
});

test('nothing is said where the limits are high enough, or cannot be read', async () => {
  const high = { 'fs.epoll.max_user_watches': '1000000000', 'fs.inotify.max_user_watches': '2000000000', 'fs.pipe-user-pages-soft': '0' };
  expect(await kernelLines(settings(high))).toEqual([]);
  expect(await kernelLines(settings({}))).toEqual([]);
});
