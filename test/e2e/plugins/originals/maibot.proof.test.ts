import { usableId } from '../../../../src/plugins/dialects/shared/python/plugin-text.ts';
import { ADDRESS } from './stand-in.ts';
import { tryOriginals, type Original } from './try-originals.ts';

const art = usableId('1021143806.mais_art_journal', 'maibot');
const ORIGINALS: Original[] = [
  {
    repository: 'hsd221/maibot-plugin-searxng-search',
    id: 'hsd221.searxng-search',
    config: ({ host }) => ({ searxng: { host: `http://${ADDRESS}`, port: Number(host.split(':')[1]) } }),
    steps: () => [{ call: 'hsd221.searxng-search:search_web', with: { query: 'tides' } }],
    works: /High at noon.*harbour/s,
    asks: 'GET /search',
  },
  {
    repository: 'SengokuCola/aliyun-tts-plugin',
    id: 'sengokucola.aliyun-tts-plugin',
    config: ({ url }) => ({ tts: { api_key: 'k', endpoint: `${url}/speech`, enable_noise: false } }),
    steps: () => [{ call: 'sengokucola.aliyun-tts-plugin:send_tts_voice', with: { text: 'high' } }],
    works: /said to the user: .*voice\.wav/,
    asks: 'GET /speech.wav',
  },
  {
    // The tool marks the next answer, and a hook makes it a voice before it is sent.
    repository: 'A-Dawn/A_TTS_Plugin',
    id: 'a-dawn.a-tts-plugin',
    config: ({ url }) => ({ plugin: { enabled: true }, api: { api_base_url: url }, tts: { ref_audio_path: 'a.wav' } }),
    steps: () => [{ call: 'a-dawn.a-tts-plugin:use_voice_reply', with: {} }],
    works: /\(voice\.wav\)/,
    asks: 'POST /tts',
  },
  {
    repository: 'DavidBlackCN/maibot-api-balance-plugin',
    id: 'davidblackcn.maibot-api-balance-plugin',
    config: ({ url }) => ({
      settings: { admin_only: false, output_format: 'text' },
      api_instances: [{ type: 'deepseek', enabled: true, api_key: 'k', base_url: url }],
    }),
    // A message calls its command, so the model is asked nothing; a turn of a command has two answers.
    steps: () => [{ say: 'Not asked.' }],
    message: '/余额',
    works: /42\.00/,
    asks: 'GET /user/balance',
  },
  {
    repository: 'yufei-pan/maibot-fetch-url-plugin',
    id: 'com.0-hz.fetch-url',
    config: () => ({ fetch: { allow_private_networks: true } }),
    steps: ({ url }) => [{ call: 'com.0-hz.fetch-url:fetch_url', with: { url: `${url}/page` } }],
    works: /High at noon, low at six\./,
    asks: 'GET /page',
  },
  {
    repository: '1021143806/mais_art_journal',
    id: art,
    config: ({ url }) => ({
      plugin: { enabled: true },
      basic: { prompt_optimizer_enabled: false, default_model: 'model1' },
      models: { items: [{ id: 'model1', name: 'm', base_url: `${url}/v1`, api_key: 'Bearer k', format: 'openai', model: 'm' }] },
    }),
    steps: () => [{ call: `${art}:draw_picture`, with: { description: 'a harbour', msg_id: '1' } }],
    works: /said to the user: .*image/s,
    asks: 'POST /v1/images/generations',
  },
];

tryOriginals('MaiBot', ORIGINALS);
