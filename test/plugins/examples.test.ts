import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { inflateSync } from 'node:zlib';
import { openPlugin } from '../../src/plugins/testing.ts';
import { problemOf } from './isolates/support.ts';

const open = (name: string, options: Parameters<typeof openPlugin>[1] = {}) => openPlugin(resolve('examples/plugins', name), options);

test('a league counts results that come side by side and from a file, and ranks by points, difference, goals and name', async () => {
  const file = 'home,away,home_goals,away_goals\nC,D,0,0\n\nA,B,3,1\n';
  const given = { files: { get: async () => new TextEncoder().encode(file), put: async (_source: unknown, { name = '' } = {}) => `/home/user/files/${name}` } };
  await using league = await open('league', { context: given });
  const add = (home: string, away: string, home_goals: number, away_goals: number) => league.call('add_result', { home, away, home_goals, away_goals });
  const counts = await Promise.all([add('B', 'C', 2, 0), add('D', 'A', 1, 1), add('E', 'F', 1, 1)]);
  expect(new Set(counts)).toEqual(new Set([1, 2, 3]));
  expect(await league.call('import_results', { path: 'results.csv' })).toBe(5);
  const rows = (await league.call('standings')) as { team: string; points: number }[];
  expect(rows.map(({ team, points }) => `${team}${points}`)).toEqual(['A4', 'B3', 'D2', 'E1', 'F1', 'C1']);
  expect(await league.call('export_standings')).toBe('/home/user/files/standings.csv');
  expect(await problemOf(add('A', 'B', -1, 0))).toContain('goals are whole numbers from 0 on');
  const wrong = { files: { ...given.files, get: async () => new TextEncoder().encode('A,B,1,2\nA,B,one,2\n') } };
  expect(await problemOf(league.call('import_results', { path: 'x' }, wrong))).toContain(
    'line 2 is no match: A,B,one,2; write home,away,home_goals,away_goals',
  );
});

test('notes are saved, listed, read and deleted', async () => {
  await using notes = await open('notes');
  expect(await notes.call('save', { title: 'milk', text: 'two litres' })).toEqual({ title: 'milk', outcome: 'created' });
  expect(await notes.call('save', { title: 'milk', text: 'three litres' })).toEqual({ title: 'milk', outcome: 'updated' });
  await notes.call('save', { title: 'eggs', text: 'six' });
  expect(await notes.call('list')).toEqual(['eggs', 'milk']);
  expect(await notes.call('list', { beginning: 'm' })).toEqual(['milk']);
  expect(await notes.call('read', { title: 'milk' })).toBe('three litres');
  expect(await notes.call('delete', { title: 'milk' })).toEqual({ deleted: true });
  expect(await notes.call('read', { title: 'milk' })).toEqual({ content: [{ type: 'text', text: 'There is no note "milk".' }], isError: true });
});

test('the weather is what its one host answers, and a host that fails is told', async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.statusCode = asked.length > 1 ? 503 : 200;
    response.end(JSON.stringify({ current: { temperature_2m: 51.8, wind_speed_10m: 9, precipitation: 0.2 } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // The service of the test stands where the allowed host would be.
  const local = (url: string | URL) => fetch(String(url).replace('https://api.open-meteo.com', `http://127.0.0.1:${port}`));
  await using weather = await open('weather', { config: { units: 'fahrenheit' }, context: { fetch: local } });
  expect(await weather.call('now', { latitude: 53.55, longitude: 10 })).toEqual({ temperature: 51.8, unit: 'fahrenheit', windKmh: 9, rainMm: 0.2 });
  expect(asked[0]).toContain('latitude=53.55&longitude=10&temperature_unit=fahrenheit');
  expect(await problemOf(weather.call('now', { latitude: 0, longitude: 0 }))).toBe('the weather service answered with 503');
  expect(await problemOf(weather.call('now', { latitude: 91, longitude: 0 }))).toContain('/latitude: must be <= 90, got 91');
  expect(weather.plugin.tools[0]?.permissions).toEqual({ network: ['api.open-meteo.com'] });
  server.close();
});

test('a chart is a picture with bars above and below its axis, shown to user and model', async () => {
  await using chart = await open('chart');
  const result = (await chart.call('bars', { values: [2, -2], width: 60, height: 51 })) as { content: { data: string }[] };
  expect(chart.sent).toEqual([result.content[1]]);
  const pixels = pixelsOf(Buffer.from(result.content[1]?.data ?? '', 'base64'));
  const at = (x: number, y: number) => pixels[y * 61 + 1 + x];
  expect([at(15, 5), at(45, 5), at(15, 25), at(15, 45), at(45, 45)]).toEqual([1, 0, 2, 0, 1]);
});

/** The rows of a PNG that has one IDAT chunk, each behind its filter byte. */
function pixelsOf(png: Buffer): Buffer {
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  const at = png.indexOf('IDAT');
  return inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
}
