import { contextOf, problemOf, run } from '../../isolates/support.ts';
import { hostOf } from '../support.ts';
import { config, env, ids, plugin, texts, toolOf, useWeather } from './weather.ts';

useWeather();

test('resolveTools stands beside tools, and is given the configuration and the declared variables', async () => {
  await plugin.load!(hostOf(config, { OPENWEATHER_API_KEY: 'k-1', UNUSED_SECRET: 'never' }));
  expect(ids()).toEqual(['weather', 'globals', 'change', 'now']);
  expect(texts()).toContain('warning: No search: SEARCH_KEY is not set (seen: OPENWEATHER_API_KEY)');
});

test('static and resolved tools are loaded together when the plugin is active, under the same ids and checks', async () => {
  await plugin.load!(hostOf(config, env));
  expect(ids()).toEqual(['weather', 'globals', 'change', 'search', 'now']);
  // A conversation that begins later resolves them in its own compartment.
  expect(await run(plugin, 'search', { q: 'x' }, contextOf('conv-3', { env }))).toBe('atlas found x with s-1 for hi');
  expect(toolOf('search').problemsOf({ q: 'x', user: 1 })).toEqual(['/user: not known (known: q)']);
  await plugin.updateConfig!('self', { ...config, greeting: 'bye' }, '4');
  expect(await run(plugin, 'search', { q: 'z' }, contextOf('conv-5', { env }))).toBe('atlas found z with s-1 for bye');
});

test('alerts come beside the tools, informational or a warning, and are kept with level, text and time', () => {
  expect(texts()).toEqual([
    "warning: No tool sees the variable UNUSED_SECRET: it is in envVars, but in no entry's permissions.env.",
    'warning: Tool "globals" declares a sandbox or permissions of its own; they are ignored, and the manifest is used.',
    'info: Using atlas (seen: OPENWEATHER_API_KEY,SEARCH_KEY)',
  ]);
  for (const { at } of plugin.alerts) expect(Date.parse(at)).not.toBeNaN();
});

test('a configuration with which resolveTools fails changes nothing: the last good set stays, and one alert says why', async () => {
  await plugin.updateConfig!('self', config, '5');
  const why = 'its tools could not be resolved (the backend is not known). The previous ones stay; correct resolveTools or its configuration';
  for (const version of ['6', '7']) {
    expect(await problemOf(plugin.updateConfig!('self', { ...config, searchBackend: 'broken' }, version))).toBe(`Plugin "./pandora-weather": ${why}`);
  }
  expect(texts().slice(2)).toEqual([
    'info: Using atlas (seen: OPENWEATHER_API_KEY,SEARCH_KEY)',
    'error: Its tools could not be resolved: the backend is not known',
  ]);
  expect(ids()).toContain('search');
  expect(await run(plugin, 'search', { q: 'y' }, contextOf('conv-4', { env }))).toBe('atlas found y with s-1 for hi');
});
