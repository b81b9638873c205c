import { loadConfig } from '../../src/platform/config.ts';

test('a worker has no version, unless the settings say so', () => {
  expect(loadConfig({}).LONGSHORE_WORKER_VERSION).toBeUndefined();
  expect(loadConfig({ LONGSHORE_WORKER_VERSION: '2026-11-27.1' }).LONGSHORE_WORKER_VERSION).toBe('2026-11-27.1');
});

test.each(['.1', 'a b', 'a/b', 'x'.repeat(101)])('LONGSHORE_WORKER_VERSION=%s is refused', (value) => {
  expect(() => loadConfig({ LONGSHORE_WORKER_VERSION: value })).toThrow('LONGSHORE_WORKER_VERSION');
});
