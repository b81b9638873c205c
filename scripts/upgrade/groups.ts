import type { Chat } from '../../src/client.ts';
import { until, untilEvent } from '../../test/e2e/support.ts';
import type { Upgrade } from './open-upgrade.ts';

/** Conversations that are at the same point when the upgrade comes. Those with an even number go on while both versions run, the others when the old one is gone. */
export interface Group {
  agent: string;
  size: number;
  /** All that the agent says, in order. */
  says: (index: number) => string[];
  /** How many calls it makes. */
  calls: number;
  message: (index: number) => string;
  before: (chat: Chat, index: number) => Promise<void>;
  beside: (chat: Chat, index: number) => Promise<void>;
  after: (chat: Chat, index: number) => Promise<void>;
}

/** What the agents do; `held` has a model that answers when it is told to. */
export const STEPS = {
  talker: [{ say: 'One.' }, { say: 'Two.' }, { say: 'Three.' }],
  asker: [{ call: 'lab:look', with: { key: 'a' } }, { say: 'Looked.' }, { say: 'Again.' }],
  commander: [{ call: 'shell:run', with: { command: 'until [ -e go ]; do sleep 0.1; done; echo went >> log; cat log' } }, { say: 'Gone.' }],
};

export function groupsOf(count: number, upgrade: Upgrade): Group[] {
  const part = (share: number) => Math.max(1, Math.floor(count * share));
  const [asking, paused, held, commands] = [part(0.25), part(0.15), part(0.15), part(0.05)];
  return [talkers(count - asking - paused - held - commands), askers(asking), pausers(paused), heldOnes(held, upgrade), commanders(commands, upgrade)];
}

const isEven = (index: number) => index % 2 === 0;
const nothing = async () => undefined;

function talkers(size: number): Group {
  return {
    agent: 'talker',
    size,
    says: () => ['One.', 'Two.', 'Three.'],
    calls: 0,
    message: () => 'Count.',
    before: (chat) => says(chat, 'One.'),
    beside: (chat) => sends(chat, 'Two.'),
    after: (chat) => sends(chat, 'Three.'),
  };
}

function askers(size: number): Group {
  const allow = async (chat: Chat) => {
    const [approval] = (await chat.status()).pendingApprovals;
    if (approval === undefined) throw new Error(`${chat.id} waits for no approval`);
    await chat.approve({ callId: approval.callId, answer: 'allow-once', by: 'bob' });
    await says(chat, 'Looked.');
  };
  return {
    agent: 'asker',
    size,
    says: () => ['', 'Looked.', 'Again.'],
    calls: 1,
    message: () => 'Look.',
    before: (chat) => until(async () => (await chat.status()).pendingApprovals.length === 1, 'a call waits for an approval'),
    beside: (chat, index) => (isEven(index) ? allow(chat) : nothing()),
    async after(chat, index) {
      if (!isEven(index)) await allow(chat);
      await sends(chat, 'Again.');
    },
  };
}

function pausers(size: number): Group {
  const goOn = async (chat: Chat) => {
    await chat.resume();
    await sends(chat, 'Two.');
  };
  return {
    ...talkers(size),
    async before(chat) {
      await says(chat, 'One.');
      await chat.pause();
    },
    beside: (chat, index) => (isEven(index) ? goOn(chat) : nothing()),
    async after(chat, index) {
      if (!isEven(index)) await goOn(chat);
      await sends(chat, 'Three.');
    },
  };
}

/** Their model was asked by the old version. When that has gone, it is asked again; a pinned turn ends before. */
function heldOnes(size: number, { provider, versions }: Upgrade): Group {
  const message = (index: number) => `Question ${index}`;
  const answer = async (chat: Chat, index: number) => {
    provider.answer(message(index));
    await says(chat, `Answer to ${message(index)}`);
  };
  return {
    agent: 'held',
    size,
    says: (index) => [`Answer to ${message(index)}`],
    calls: 0,
    message,
    before: (_chat, index) => provider.untilAsked(message(index)),
    beside: (chat, index) => (isEven(index) ? answer(chat, index) : nothing()),
    async after(chat, index) {
      if (isEven(index)) return;
      if (versions !== 'pinned') await provider.untilAsked(message(index), 2);
      await answer(chat, index);
    },
  };
}

/** A command runs through the whole upgrade. */
function commanders(size: number, { letGo }: Upgrade): Group {
  return {
    agent: 'commander',
    size,
    says: () => ['', 'Gone.'],
    calls: 1,
    message: () => 'Go.',
    before: async (chat) => void (await untilEvent(chat, ({ type }) => type === 'tool.started')),
    beside: nothing,
    async after(chat) {
      await letGo();
      await says(chat, 'Gone.');
    },
  };
}

async function sends(chat: Chat, expected: string): Promise<void> {
  await chat.send('Go on.');
  await says(chat, expected);
}

async function says(chat: Chat, expected: string): Promise<void> {
  const reply = await chat.reply();
  if (reply !== expected) throw new Error(`${chat.id} says "${reply}" instead of "${expected}"`);
}
