import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { saidIn } from '../../../../src/contracts/transcript.ts';
import { startApi } from '../../../api/support.ts';
import { installAgents, until } from '../../support.ts';

/** The plugin that Nekro Agent brings for webhooks of GitHub; its repository is `KroMiose+nekro-agent` below LONGSHORE_ORIGINALS. */
const GITHUB = join(process.env['LONGSHORE_ORIGINALS'] ?? '', 'KroMiose+nekro-agent/plugins/builtin/github');
const isHere = process.env['LONGSHORE_ORIGINALS'] !== undefined && existsSync(GITHUB);
if (!isHere) process.stdout.write('SKIPPED: the plugin github of KroMiose/nekro-agent is not below LONGSHORE_ORIGINALS\n');

const SUBSCRIBE = "subscribe_github_repo('harbour/tides')\nprint(get_github_subscriptions())";
const PUSH = {
  ref: 'refs/heads/main',
  before: '1'.repeat(40),
  after: '2'.repeat(40),
  compare: 'https://github.test/compare',
  repository: { full_name: 'harbour/tides' },
  pusher: { name: 'ada' },
  commits: [{ id: '2'.repeat(40), message: 'High tide', author: { name: 'Ada' }, added: [], removed: [], modified: ['a'] }],
};

(isHere ? test : test.skip)(
  'a push to a repository reaches the conversation that has subscribed to it',
  async () => {
    const python = { call: 'code:run', with: { language: 'python', code: SUBSCRIBE } };
    const steps = [python, { say: 'Subscribed.' }, { say: 'Seen.' }];
    await using installation = await installAgents({ follower: { plugins: [GITHUB], tools: ['code:*', 'github:*'], steps } });
    await using service = await startApi(installation);
    await installation.startWorker().ready;
    const chat = await installation.longshore.start({ agent: 'follower', user: 'user-1', message: 'Follow harbour/tides.' });
    expect(await chat.reply()).toBe('Subscribed.');
    const { path, webhookId } = await installation.longshore.plugins.addWebhook('github', { endpoint: 'github' });
    const headers = { 'Content-Type': 'application/json', 'X-GitHub-Event': 'push', 'X-GitHub-Delivery': '72d3162e', 'User-Agent': 'GitHub-Hookshot' };
    const send = async () => (await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(PUSH) })).json();
    expect(await send()).toMatchObject({ repeated: false });
    expect(await send()).toMatchObject({ repeated: true });
    const said = async () => (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'assistant' ? [saidIn(entry)] : []));
    await until(async () => (await said()).includes('Seen.'), 'the agent has read of the push');
    const notes = (await chat.transcript()).flatMap(({ entry }) => (entry.role === 'note' ? [entry.text] : []));
    const ofPush = notes.filter((text) => text.includes('harbour/tides') && text.includes('High tide'));
    expect(ofPush).toHaveLength(1);
    const delivered = async () => (await installation.longshore.plugins.webhooks('github')).find((each) => each.webhookId === webhookId)?.delivered;
    await until(async () => (await delivered()) === 1, 'it is delivered');
    await chat.close();
  },
  400_000,
);
