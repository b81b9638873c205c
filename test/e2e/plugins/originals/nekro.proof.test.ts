import type { ScriptedStep } from '../../support.ts';
import { tryOriginals, type Original } from './try-originals.ts';

const python = (code: string): ScriptedStep => ({ call: 'code:run', with: { language: 'python', code } });
const ORIGINALS: Original[] = [
  {
    repository: '1A7432/nekro_plugin_BochaSearch',
    id: 'nekro-plugin-bocha-search',
    config: ({ url }) => ({ API_URL: url, API_KEY: 'k' }),
    steps: () => [python("search('tides')")],
    works: /High at noon/,
    asks: 'POST /web-search',
  },
  {
    repository: 'YukiAcerium/nekro-plugin-weather',
    id: 'weather',
    // It says that its key is a secret, which is only referred to.
    config: ({ url }) => ({ API_BASE_URL: url, API_KEY: '${env.HARBOUR_KEY}' }),
    steps: () => [python("query_weather('Harbour')")],
    works: /sunny/,
    asks: 'GET /weather/weatherInfo',
  },
  {
    repository: '1A7432/nekro-plugin-kimi-search',
    id: 'nekro-plugin-kimi-search',
    config: ({ url }) => ({ API_URL: `${url}/v1`, API_KEY: 'k' }),
    steps: () => [python("search_ai('tides')")],
    works: /High at noon\./,
    asks: 'POST /v1/chat/completions',
  },
  {
    repository: 'XG2020/nekro-plugin-zaobao',
    id: 'zaobao',
    config: ({ url }) => ({ API_URL: `${url}/news`, API_TOKEN: 'k' }),
    steps: () => [python('print(get_daily_zaobao())')],
    works: /2027-01-31/,
    asks: 'POST /news',
  },
  {
    repository: 'JadeCake5/nekro-plugin-modal-comfyui',
    id: 'nekro-plugin-modal-comfyui',
    config: ({ url }) => ({ GENERATE_API_URL: `${url}/generate` }),
    // The first program ends at the call.
    steps: () => [
      python("draw_image('', 'a harbour')"),
      python("import glob\nprint([open(path, 'rb').read(4) for path in glob.glob('/home/user/files/*/*.png')])"),
    ],
    works: /x89PNG/,
    asks: 'POST /generate',
  },
  {
    repository: 'greenhandzdl/nekro-plugin-yt-dlp',
    id: 'yt-dlp',
    config: () => ({ format: 'best' }),
    steps: ({ url }) => [python(`print(download_and_cleanup('${url}/video.mp4'))`)],
    works: /downloaded successfully/,
    asks: 'GET /video.mp4',
  },
];

tryOriginals('Nekro Agent', ORIGINALS);
