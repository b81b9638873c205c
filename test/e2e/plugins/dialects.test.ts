import { fileURLToPath } from 'node:url';
import { installAgents, until, type Installation } from '../support.ts';

const plugins = ['pandora-weather', 'maibot-search'].map((name) => fileURLToPath(new URL(`../../fixtures/plugins/${name}`, import.meta.url)));
let installation: Installation;

beforeAll(async () => {
  installation = await installAgents({
    speaker: {
      plugins,
      tools: ['@pandorakit/weather:*', 'maibot-search:*'],
      steps: [
        { call: '@pandorakit/weather:globals', with: {}, expect: { works: [], missing: [] } },
        {
          call: 'maibot-search:search_web',
          with: { query: 'ports', user_id: 'somebody-else' },
          expect: { results: ['ports 5'], said: { user_id: 'user-1', platform: 'longshore', message: { text: 'Find ports.' } } },
        },
        { call: 'maibot-search:greet', with: {}, expect: { success: true } },
        { call: 'maibot-search:result', with: { value: { success: false, error: 'no such port' } }, expect: { isError: true, text: 'no such port' } },
        { call: 'maibot-search:groups', with: {}, expect: { isError: true, text: '/^Unknown tool "maibot-search:groups"/' } },
        { call: 'maibot-search:secret', with: {}, expect: { isError: true, text: '/^Unknown tool "maibot-search:secret"/' } },
        { call: 'maibot-search:intrude', with: {}, expect: { isError: true, text: '/the stream "conv-other" is not the one of this call/' } },
        { call: 'maibot-search:get_weather', with: {}, expect: { isError: true, text: '/city: missing/' } },
        { say: 'Found.' },
      ],
    },
  });
  installation.environment['OPENWEATHER_API_KEY'] = 'a-key';
  await installation.startWorker().ready;
  const { plugins: managed } = installation.longshore;
  // Its manifest asks for this field; until it is there, the plugin is not loaded.
  await managed.configure('@pandorakit/weather', { greeting: 'Ahoy' });
  await until(async () => (await managed.get('@pandorakit/weather')).reports.every(({ health }) => health === 'loaded'), 'the plugin is loaded');
});
afterAll(async () => {
  await installation[Symbol.asyncDispose]();
});

test('a model calls the tools of a Pandora and of a MaiBot plugin by their ids and goes on with what they return, with what the host says and what went wrong', async () => {
  const chat = await installation.longshore.start({ agent: 'speaker', user: 'user-1', message: 'Find ports.' });
  expect(await chat.reply()).toBe('Found.');
  const events = await installation.store.events.read(chat.id, 0);
  const sent = events.flatMap((event) => (event.type === 'message.sent' ? [event.data] : []));
  expect(sent).toMatchObject([
    { tool: 'maibot-search:greet', part: { type: 'text', text: 'Hello!' } },
    { part: { type: 'image' } },
    { part: { type: 'file', name: 'a.txt' } },
  ]);
  await chat.close();
});
