import { openSession } from '../../../../src/plugins/dialects/mcp/connection/open-session.ts';
import { openTransport } from '../../../../src/plugins/dialects/mcp/connection/open-transport.ts';
import { hostileProgram } from './support.ts';

test('a flood is a flood also when it is read slowly', async () => {
  const notify = `process.stdout.write((JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }) + '\\n').repeat(1200))`;
  const open = () => openTransport('fix', hostileProgram(`on('tools/call', () => ${notify});`), () => undefined);
  const toolsChanged = () => {
    const until = performance.now() + 3;
    while (performance.now() < until);
  };
  const ignore = () => undefined;
  const session = await openSession({ name: 'fix', remembered: {}, signal: new AbortController().signal }, open, {
    toolsChanged,
    log: ignore,
    listChanged: ignore,
    problem: ignore,
  });
  const request = { method: 'tools/call', params: { name: 'go', arguments: {} } };
  const call = session.call(request, { signal: new AbortController().signal, timeoutMs: 120_000, onProgress: () => undefined });
  await expect(call).rejects.toThrow('Connection closed');
  expect(await session.ended).toBe('it sent more than 1000 notifications or unreadable lines within a second');
});
