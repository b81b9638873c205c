/** Serves the page, and hands its requests to the HTTP service with the key, which the page never sees. */
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { build } from 'esbuild';

const { LONGSHORE_URL = 'http://127.0.0.1:8280', LONGSHORE_API_KEY, AGENT = 'fixer', PORT = '3000' } = process.env;
if (!LONGSHORE_API_KEY)
  throw new Error(
    'Set LONGSHORE_API_KEY to a key: longshore keys create page --scope conversations:read --scope conversations:write --scope approvals:resolve',
  );

// Long lines are broken: what stands beyond the edge of the window, nobody reads before pressing a button.
const STYLE = '<style>p, pre { white-space: pre-wrap; overflow-wrap: anywhere }</style>';
const PAGE = `<!doctype html><meta charset="utf-8"><title>Chat</title>${STYLE}<main></main><script type="module" src="/page.js"></script>`;
const { outputFiles } = await build({
  entryPoints: [new URL('page.jsx', import.meta.url).pathname],
  bundle: true,
  format: 'esm',
  jsx: 'automatic',
  write: false,
  define: { 'process.env.NODE_ENV': '"production"', AGENT: JSON.stringify(AGENT) },
});

/** Your application knows who has logged in. */
const userOf = () => 'user-1';

const server = createServer((request, response) => {
  if (request.url === '/page.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(outputFiles[0].text);
  else if (/^\/api\/chat(\/|$)/.test(request.url)) pass(request, response).catch(() => response.destroy());
  else response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
});

async function pass(request, response) {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const headers = { authorization: `Bearer ${LONGSHORE_API_KEY}`, 'content-type': 'application/json', 'x-longshore-user': userOf(request) };
  const body = request.method === 'POST' ? Readable.toWeb(request) : undefined;
  const answer = await fetch(LONGSHORE_URL + request.url, { method: request.method, headers, body, duplex: 'half', signal: gone.signal });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain', 'cache-control': 'no-store' });
  if (answer.body) await pipeline(Readable.fromWeb(answer.body), response);
  else response.end();
}

server.listen(Number(PORT), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
