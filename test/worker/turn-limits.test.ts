import { loadConfig } from '../../src/platform/config.ts';
import { turnLimits } from '../../src/worker/turn-places.ts';

test('the settings limit the turns of the installation and of each tenant, and nothing by default', () => {
  expect(turnLimits(loadConfig({}))).toEqual({});
  expect(turnLimits({})).toEqual({});
  const given = loadConfig({ LONGSHORE_MAX_RUNNING_TURNS: '200', LONGSHORE_LIMITS: 'streams=100,runningTurns=20' });
  expect(turnLimits(given)).toEqual({ installation: 200, tenant: 20 });
});

test.each(['0', '-1', '1.5', 'many'])('LONGSHORE_MAX_RUNNING_TURNS=%s is refused', (value) => {
  expect(() => loadConfig({ LONGSHORE_MAX_RUNNING_TURNS: value })).toThrow(`LONGSHORE_MAX_RUNNING_TURNS: "${value}" is not usable`);
});
