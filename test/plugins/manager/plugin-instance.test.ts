import { definePlugin } from '../../../src/plugins/api/define-plugin.ts';
import { configureInstance, startInstance } from '../../../src/plugins/manager/plugin-instance.ts';
import { createLogger } from '../../../src/platform/log.ts';

beforeEach(() => void import.meta.jest.useFakeTimers());
afterEach(() => void import.meta.jest.useRealTimers());

const parts = { environment: () => undefined, log: createLogger({ LONGSHORE_LOG_LEVEL: 'silent' }) };
const MINUTE_MS = 60_000;

/** A plugin that takes a minute for another configuration. */
function slow(changeTimeoutMs?: number) {
  const updateConfig = () => new Promise<void>((resolve) => setTimeout(resolve, MINUTE_MS));
  return Object.assign(definePlugin({ id: 'slow', tools: [], updateConfig }), changeTimeoutMs !== undefined && { changeTimeoutMs });
}

test.each([
  [undefined, 0, 'Plugin "slow": its updateConfig failed (it took longer than 30000 ms)'],
  [5 * MINUTE_MS, 1, undefined],
])('another configuration is refused when it takes longer than a plugin of its kind may: %s', async (changeTimeoutMs, version, problem) => {
  const instance = await startInstance(slow(changeTimeoutMs), { config: {}, configVersion: 0 }, parts);
  const configured = configureInstance(instance, { config: {}, configVersion: 1 }, parts).then(
    () => undefined,
    (error: Error) => error.message,
  );
  await import.meta.jest.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect([(await configured)?.split('. ')[0], instance.configVersion]).toEqual([problem, version]);
});
