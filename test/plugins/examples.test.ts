import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { inflateSync } from 'node:zlib';
import { openPlugin } from '../../src/plugins/testing.ts';
import { problemOf } from './isolates/support.ts';
import { call as callServer, fixtureProgram, openBench } from './mcp/support.ts';

const open = (name: string, options: Parameters<typeof openPlugin>[1] = {}) => openPlugin(resolve('examples/plugins', name), options);

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

test('a calendar books where there is room, once, finds free time, and cancels', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-calendar-'));
  const env = { CALENDAR: join(directory, 'calendar.json') };
  const program = fixtureProgram({ args: ['server.mjs'], directory: resolve('examples/plugins/calendar'), env });
  await using bench = await openBench(program);
  const day = { from: '2027-03-01T08:00', to: '2027-03-01T18:00' };
  const dentist = { title: 'Dentist', start: '2027-03-01T10:00', end: '2027-03-01T10:45' };
  const book = (title: string, start: string, minutes: number) => callServer(bench, 'book', { title, start, minutes });
  expect(await book('Dentist', dentist.start, 45)).toEqual(dentist);
  expect(await book('Dentist', dentist.start, 45)).toEqual(dentist);
  expect(await book('Lunch', '2027-03-01T10:30', 60)).toEqual({
    content: [{ type: 'text', text: 'There is "Dentist" from 2027-03-01T10:00 to 2027-03-01T10:45.' }],
    isError: true,
  });
  expect(await callServer(bench, 'find_free', { ...day, minutes: 150 })).toEqual({ free: [{ start: dentist.end, end: day.to }] });
  expect(await callServer(bench, 'agenda', day)).toEqual({ appointments: [dentist] });
  expect(await callServer(bench, 'cancel', { title: 'Dentist', start: dentist.start })).toBe('It is cancelled.');
  expect(await callServer(bench, 'cancel', { title: 'Dentist', start: dentist.start })).toMatchObject({ isError: true });
  expect(await callServer(bench, 'agenda', day)).toEqual({ appointments: [] });
  await rm(directory, { recursive: true });
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
