import { chatChunks, sendEvents, startProvider } from './provider-server.ts';
import { ask, hello, makeModel, makeRequest } from './support.ts';

const MODEL = 'openai-compatible/qwen';

test('the key and the prompt are not sent to another server than the one that is named', async () => {
  await using other = await startProvider((response) => sendEvents(response, chatChunks([{ content: 'Hi.' }])));
  await using server = await startProvider((response) => response.writeHead(307, { location: `${other.url}/v1/chat/completions` }).end());
  const asked = ask(makeModel(MODEL, { baseUrl: server.url }), makeRequest([hello]));
  await expect(asked).rejects.toMatchObject({
    code: 'MODEL_BAD_REQUEST',
    message: expect.stringContaining(`${server.url} redirects to ${other.url}`) as string,
  });
  expect(other.requests).toEqual([]);
});

test('redirects within the server are followed with the whole request, unless they have no end', async () => {
  await using server = await startProvider((response, { path }) => {
    if (path === '/chat/completions') response.writeHead(308, { location: '/v1/chat/completions' }).end();
    else if (path === '/v1/chat/completions') sendEvents(response, chatChunks([{ content: 'Hi.' }]));
    else response.writeHead(307, { location: path }).end();
  });
  await ask(makeModel(MODEL, { baseUrl: server.url }), makeRequest([hello]));
  expect(server.requests.map(({ path }) => path)).toEqual(['/chat/completions', '/v1/chat/completions']);
  expect(server.requests[1]?.body).toEqual(server.requests[0]?.body);
  const round = ask(makeModel(MODEL, { baseUrl: `${server.url}/round` }), makeRequest([hello]));
  await expect(round).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
});

test.each([301, 302, 303])('a redirect that would lose the request (%d) is refused at once, with the address to which it leads', async (status) => {
  await using server = await startProvider((response) => response.writeHead(status, { location: 'https://model.example/v1/chat/completions?key=1' }).end());
  await expect(ask(makeModel(MODEL, { baseUrl: server.url }), makeRequest([hello]))).rejects.toMatchObject({
    code: 'MODEL_BAD_REQUEST',
    message: expect.stringContaining(`${server.url} redirects to https://model.example/v1/chat/completions (HTTP ${status})`) as string,
  });
  expect(server.requests).toHaveLength(1);
});
