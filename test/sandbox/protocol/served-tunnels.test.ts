import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { ScriptedSupervisor } from './scripted-supervisor.ts';

test('the call of a tunnel that has ended in both directions is not given up: a slow guest has not taken all of it yet', async () => {
  using supervisor = new ScriptedSupervisor(({ operation, send }) => {
    if (operation === 'tunnel.serve') return send('data', '{"tunnelId":"t1"}\n');
    send('reply', { accepted: 0 });
    // The guest asks, and sends no more.
    send('data', 'question');
    return send('data', new Uint8Array(0));
  });
  const stop = new AbortController();
  const tunnel = await new Promise<Duplex>((resolve) => {
    supervisor.connection.serveTunnels({ port: 1, signal: stop.signal, onTunnel: resolve }).catch(() => undefined);
  });
  tunnel.resume().end('answer');
  await once(tunnel, 'close');
  await supervisor.connection.ping();
  expect(supervisor.cancelled).toEqual([]);
  stop.abort();
});

test('that of a tunnel that is broken off is given up', async () => {
  using supervisor = new ScriptedSupervisor(({ operation, send }) => {
    if (operation === 'tunnel.serve') return send('data', '{"tunnelId":"t1"}\n');
    send('reply', { accepted: 0 });
    return send('data', new Uint8Array(0));
  });
  const stop = new AbortController();
  const tunnel = await new Promise<Duplex>((resolve) => {
    supervisor.connection.serveTunnels({ port: 1, signal: stop.signal, onTunnel: resolve }).catch(() => undefined);
  });
  tunnel.resume();
  await once(tunnel, 'end');
  tunnel.destroy();
  await once(tunnel, 'close');
  await supervisor.connection.ping();
  expect(supervisor.cancelled).toHaveLength(1);
  stop.abort();
});
