import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';

/** An address of this machine that a sandbox could only reach through its worker. */
export const ADDRESS =
  Object.values(networkInterfaces()).flatMap((of) => (of ?? []).filter(({ family, internal }) => family === 'IPv4' && !internal))[0]?.address ?? '127.0.0.1';

export interface StandIn extends AsyncDisposable {
  host: string;
  url: string;
  /** Method and path of each request. */
  asked: string[];
}

type Reply = { json: unknown } | { body: Buffer; type: string };

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const WAV: Reply = { body: Buffer.from('RIFFxxxxWAVE'), type: 'audio/wav' };
const PAGE = '<html><head><title>Harbour</title></head><body><article><h1>Tides</h1><p>High at noon, low at six.</p></article></body></html>';

/** What the services of the plugins answer, as far as the plugins look at it. */
function replies(url: string): Record<string, Reply> {
  return {
    '/search': { json: { results: [{ url: 'http://harbour.test', title: 'Tides', content: 'High at noon', engine: 'harbour', score: 1 }] } },
    '/speech': { json: { output: { audio: { url: `${url}/speech.wav` } } } },
    '/speech.wav': WAV,
    '/tts': WAV,
    '/user/balance': {
      json: { is_available: true, balance_infos: [{ currency: 'CNY', total_balance: '42.00', granted_balance: '2.00', topped_up_balance: '40.00' }] },
    },
    '/page': { body: Buffer.from(PAGE), type: 'text/html' },
    '/v1/images/generations': { json: { data: [{ b64_json: PNG.toString('base64') }] } },
    '/web-search': { json: { code: 200, data: { webPages: { value: [{ name: 'Tides', url: 'http://harbour.test', summary: 'High at noon' }] } } } },
    '/geocode/geo': { json: { status: '1', geocodes: [{ adcode: '1' }] } },
    '/weather/weatherInfo': { json: { status: '1', lives: [{ city: 'Harbour', temperature: '20', weather: 'sunny' }], forecasts: [] } },
    '/v1/chat/completions': {
      json: {
        id: '1',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'High at noon.' } }],
      },
    },
    '/news': { json: { code: 200, msg: 'ok', data: { date: '2027-01-31', news: ['High at noon'], weiyu: 'Keep calm.', audio: null } } },
    '/generate': { body: PNG, type: 'image/png' },
    '/video.mp4': { body: Buffer.concat([Buffer.from('\0\0\0\x18ftypmp42'), Buffer.alloc(2_000)]), type: 'video/mp4' },
  };
}

function bytesOf(reply: Reply = { json: null }): { body: Buffer; type: string } {
  return 'json' in reply ? { body: Buffer.from(JSON.stringify(reply.json)), type: 'application/json' } : reply;
}

export async function startStandIn(): Promise<StandIn> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', url);
    asked.push(`${request.method} ${pathname}`);
    const reply = replies(url)[pathname];
    request.resume().on('end', () => {
      const { body, type } = bytesOf(reply);
      response.writeHead(reply ? 200 : 404, { 'content-type': type, 'content-length': body.length });
      response.end(request.method === 'HEAD' ? undefined : body);
    });
  }).listen(0, ADDRESS);
  await once(server, 'listening');
  const host = `${ADDRESS}:${(server.address() as AddressInfo).port}`;
  const url = `http://${host}`;
  return {
    host,
    url,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
