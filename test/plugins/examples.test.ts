import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { inflateSync } from 'node:zlib';
import { openPlugin } from '../../src/plugins/testing/testing.ts';
import { problemOf } from './isolates/support.ts';
import { call as callServer, fixtureProgram, openBench } from './dialects/mcp/support.ts';

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

test('an inventory counts the files of a directory by their extensions, and runs in the process of the test', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-inventory-'));
  await mkdir(join(directory, 'node_modules/left-out'), { recursive: true });
  for (const [name, text] of Object.entries({ 'a.txt': 'one\ntwo\n', 'b.txt': '', plain: 'x', 'node_modules/left-out/c.txt': 'x' })) {
    await writeFile(join(directory, name), text);
  }
  await using inventory = await open('inventory');
  expect(await inventory.call('survey', { directory })).toEqual({
    kinds: [
      { extension: '.txt', files: 2, bytes: 8, lines: 2 },
      { extension: '(none)', files: 1, bytes: 1, lines: 0 },
    ],
    largest: [
      { path: join(directory, 'a.txt'), bytes: 8 },
      { path: join(directory, 'plain'), bytes: 1 },
      { path: join(directory, 'b.txt'), bytes: 0 },
    ],
  });
  expect(await problemOf(inventory.call('survey', { directory: join(directory, 'none') }))).toMatch(/^ENOENT: no such file or directory/);
  await rm(directory, { recursive: true });
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

test('a reading list keeps books, reports the goal once it is reached, and takes another goal while it runs', async () => {
  await using list = await open('reading-list', { config: { goal: 2 } });
  const book = { title: 'Moby-Dick', author: 'Herman Melville' };
  expect(await list.call('add', book)).toEqual(book);
  expect(await list.call('add', { title: ' moby-dick' })).toEqual(book);
  expect(await list.call('add', { title: 'Typee' })).toEqual({ title: 'Typee', author: 'unknown' });
  expect(await list.call('finish', { title: 'Omoo' })).toEqual({
    content: [{ type: 'text', text: '"Omoo" is not on the list. Add it first.' }],
    isError: true,
  });
  const read = await list.call('finish', { title: 'MOBY-DICK', rating: 5 });
  expect(read).toEqual({ ...book, rating: 5, finished: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string });
  expect(await list.call('finish', { title: 'Moby-Dick' })).toEqual(read);
  expect(await problemOf(list.call('finish', { title: 'Typee', rating: 6 }))).toContain('/rating: expected one of 1, 2, 3, 4, 5, got 6');
  expect([await list.call('list'), await list.call('list', { which: 'read' })]).toEqual([
    { books: [{ title: 'Typee', author: 'unknown' }] },
    { books: [read] },
  ]);
  expect([await list.call('progress'), list.sent]).toEqual([{ read: 1, goal: 2, left: 1 }, []]);
  await list.call('finish', { title: 'Typee' });
  expect(list.sent).toEqual([{ type: 'text', text: 'That was book 2 of this year: your goal is reached!' }]);
  await list.plugin.updateConfig?.('self', { goal: 3 }, '1');
  expect(await list.call('progress')).toEqual({ read: 2, goal: 3, left: 1 });
  expect([await list.call('forget', { title: 'Typee' }), await list.call('forget', { title: 'Typee' })]).toEqual([{ forgotten: true }, { forgotten: false }]);
  expect(list.plugin.tools.find(({ id }) => id === 'forget')).toMatchObject({ visibility: 'deferred', annotations: { destructiveHint: true } });
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
  const program = await fixtureProgram({ args: ['server.mjs'], directory: resolve('examples/plugins/calendar'), env });
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

describe('the currency plugin, which is one of Pandora', () => {
  /** A service of rates where the one that the plugin asks would be. */
  const ratesAt = (asked: string[]) => async (url: string | URL) => {
    asked.push(String(url));
    const to = new URL(url).searchParams.get('symbols') ?? '';
    return to === 'XXX' ? new Response('', { status: 404 }) : Response.json({ date: '2026-01-02', rates: { [to]: 1.08512 } });
  };

  test('converts by the newest rate of the service that its configuration names, and says what goes wrong', async () => {
    const asked: string[] = [];
    await using currency = await open('currency', {
      config: { source: 'own', decimals: 3 },
      env: { RATES_URL: 'http://localhost:8090' },
      context: { fetch: ratesAt(asked) },
    });
    expect(currency.plugin.alerts.map(({ level, text }) => `${level}: ${text}`)).toEqual(['info: Rates come from localhost:8090.']);
    expect(await currency.call('convert', { amount: 10, from: 'EUR', to: 'USD' })).toEqual({
      amount: 10.851,
      currency: 'USD',
      rate: 1.08512,
      date: '2026-01-02',
    });
    expect(asked).toEqual(['http://localhost:8090/latest?base=EUR&symbols=USD']);
    expect(await problemOf(currency.call('convert', { amount: 1, from: 'EUR', to: 'XXX' }))).toBe('EUR or XXX is no currency that the service of rates knows');
    expect(await problemOf(currency.call('convert', { amount: 1, from: 'euro', to: 'USD' }))).toContain('/from: ');
  });

  test('has an alert and no conversion where there is no service, and splits amounts anyway', async () => {
    await using currency = await open('currency', { config: { source: 'own' } });
    expect(currency.plugin.tools.map(({ id }) => id)).toEqual(['split']);
    expect(currency.plugin.alerts.map(({ level, text }) => `${level}: ${text}`)).toEqual([
      'warning: Nothing can be converted: rates are to come from RATES_URL, which is not set.',
    ]);
    expect(await currency.call('split', { amount: 0.05, shares: 3 })).toEqual({ shares: [0.02, 0.02, 0.01] });
    expect(await problemOf(open('currency', { config: { source: 'elsewhere' } }))).toContain('/source: expected one of "banks", "own", got "elsewhere"');
  });

  test('asks central banks unless it is told otherwise', async () => {
    const asked: string[] = [];
    await using currency = await open('currency', { context: { fetch: ratesAt(asked) } });
    expect(await currency.call('convert', { amount: 1, from: 'EUR', to: 'USD' })).toMatchObject({ amount: 1.09, currency: 'USD' });
    expect(asked).toEqual(['https://api.frankfurter.dev/v1/latest?base=EUR&symbols=USD']);
  });
});

/** The rows of a PNG that has one IDAT chunk, each behind its filter byte. */
function pixelsOf(png: Buffer): Buffer {
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  const at = png.indexOf('IDAT');
  return inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)));
}
