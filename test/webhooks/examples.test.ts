import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { freePort } from '../../src/setup/ports.ts';
import { makeWebhookSecret } from '../../src/webhooks/secret.ts';
import { openEndpoint } from '../../src/webhooks/send-message.ts';

test.each([
  ['receiver.ts', process.execPath, ['--import', 'tsx']],
  ['receiver.py', 'python3', []],
])(
  'the receiver of the guide (%s) takes what is signed, once, and nothing else',
  async (file, program, args) => {
    const path = `examples/webhooks/${file}`;
    expect(await readFile('docs/guides/webhooks.md', 'utf8')).toContain(await readFile(path, 'utf8'));
    const [secret, port] = [makeWebhookSecret(), await freePort()];
    const environment = { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) };
    const child = spawn(program, [...args, path], { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      expect((await lines.next()).value).toBe('listening');
      await using endpoint = openEndpoint(`http://127.0.0.1:${port}/`, { allowAddresses: ['127.0.0.1'] });
      const body = (seq: number) => JSON.stringify({ type: 'note', timestamp: new Date().toISOString(), data: { conversationId: 'conv_ä', seq } });
      const send = (seq: number, secrets: string[]) => endpoint.send({ messageId: `evt_${seq}_conv_a`, body: body(seq) }, secrets);
      expect(await send(1, [makeWebhookSecret()])).toMatchObject({ outcome: 'failed', status: 401 });
      expect(await send(1, [makeWebhookSecret(), secret])).toMatchObject({ outcome: 'delivered', status: 204 });
      expect(await send(1, [secret])).toMatchObject({ outcome: 'delivered', status: 204 });
      expect(await send(2, [secret])).toMatchObject({ outcome: 'delivered' });
      expect([(await lines.next()).value, (await lines.next()).value]).toEqual(['note conv_ä 1', 'note conv_ä 2']);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  },
  60_000,
);
