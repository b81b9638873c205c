import { PassThrough } from 'node:stream';
import type { Chat } from '../../../src/client.ts';
import { runChatSession } from '../../../src/cli/conversations/chat-session.ts';
import { EXIT, type Cli } from '../../../src/cli/output/cli.ts';
import { createOutput } from '../../../src/cli/output/terminal.ts';
import type { ConversationEvent, EventType } from '../../../src/contracts/events.ts';
import type { JsonObject } from '../../../src/contracts/json.ts';
import { until } from '../../activities/fakes.ts';

/** A chat at a terminal whose events are given one by one; `refuse` fails what is answered. */
function startSession(refuse: () => Error | undefined = () => undefined, isTTY = true) {
  const [out, err, input] = [new PassThrough(), new PassThrough(), Object.assign(new PassThrough(), { isTTY })];
  const listeners = new Set<() => void>();
  let text = '';
  for (const stream of [out, err]) stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const done: unknown[] = [];
  const waiting: ConversationEvent[] = [];
  let wake = (): void => undefined;
  let broken: Error | undefined;
  const chat = {
    id: 'conv_1',
    send: async (message: string) => {
      done.push({ sent: message });
      return { turnId: 'turn_1' };
    },
    approve: async ({ callId, answer }: { callId: string; answer: string }) => {
      const refusal = refuse();
      if (refusal) throw refusal;
      done.push({ callId, answer });
    },
    pause: async () => void done.push('paused'),
    async *events() {
      for (;;) {
        const next = waiting.shift();
        if (next?.type === 'conversation.closed') return;
        if (broken) throw broken;
        if (next) yield next;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  } as unknown as Chat;
  const onInterrupt = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const cli = { out: createOutput(out), err: createOutput(err), in: input, onInterrupt } as unknown as Cli;
  const ended = runChatSession(cli, chat);
  return {
    input,
    done,
    listeners,
    ended,
    said: () => text,
    write: (line: string) => input.write(`${line}\r`),
    happen(type: EventType, data: JsonObject = {}) {
      waiting.push({ seq: 1, at: '', conversationId: 'conv_1', turnId: 'turn_1', type, data } as unknown as ConversationEvent);
      wake();
    },
    ask(callId: string) {
      this.happen('tool.approval-requested', { callId, tool: 'shell:run', hash: `hash-${callId}`, why: 'rule 1', arguments: { command: `echo ${callId}` } });
    },
    sees: (shown: string, from = 0) => until(() => text.includes(shown, from)),
    break(error: Error) {
      broken = error;
      wake();
    },
    async close() {
      this.happen('conversation.closed');
      await ended;
    },
  };
}

test('Ctrl-C pauses a chat whose input is no terminal, as the first line says', async () => {
  const session = startSession(undefined, false);
  session.happen('turn.started');
  await session.sees('Ctrl-C pauses');
  session.input.end('Hi\n');
  await until(() => session.done.length === 1);
  session.listeners.forEach((listener) => listener());
  await session.sees('Pausing when the running step is done.');
  expect(session.done).toEqual([{ sent: 'Hi' }, 'paused']);
  session.happen('conversation.paused');
  await session.close();
  expect([await session.ended, session.listeners.size]).toEqual([EXIT.paused, 0]);
});

test.each([
  ['y', 'allow-once'],
  ['Yes', 'allow-once'],
  ['a', 'allow'],
  ['always', 'allow'],
  ['no', 'deny'],
])('"%s" answers the approval that is asked for: %s', async (line, answer) => {
  const session = startSession();
  session.ask('call_1');
  await session.sees('Allow shell:run (call_1)?');
  session.write(line);
  await until(() => session.done.length > 0);
  expect(session.done).toEqual([{ callId: 'call_1', answer }]);
  await session.close();
});

test('a sentence that begins like an answer allows nothing', async () => {
  const session = startSession();
  session.ask('call_1');
  await session.sees('Allow shell:run (call_1)?');
  session.write('actually, do not do that');
  await session.sees('Not sent, and nothing was allowed');
  await session.sees('Allow shell:run (call_1)?', session.said().lastIndexOf('Not sent'));
  session.write('n');
  await until(() => session.done.length > 0);
  expect(session.done).toEqual([{ callId: 'call_1', answer: 'deny' }]);
  await session.close();
});

test('an answer to a call does not answer another one, which has taken its place before it was shown', async () => {
  const session = startSession();
  session.ask('call_1');
  await session.sees('Allow shell:run (call_1)?');
  session.happen('tool.approval-resolved', { callId: 'call_1', tool: 'shell:run', answer: 'deny', by: 'other' });
  session.ask('call_2');
  await session.sees('echo call_2');
  session.write('y');
  await session.sees('Nothing was answered: what waits now was not shown yet.');
  await session.sees('Allow shell:run (call_2)?');
  expect(session.done).toEqual([]);
  session.write('a');
  await until(() => session.done.length > 0);
  expect(session.done).toEqual([{ callId: 'call_2', answer: 'allow' }]);
  await session.close();
});

test('a message that was entered before an approval was shown is a message', async () => {
  const session = startSession();
  session.happen('turn.started');
  session.ask('call_1');
  await session.sees('echo call_1');
  session.write('and test it, too');
  await until(() => session.done.length > 0);
  expect(session.done).toEqual([{ sent: 'and test it, too' }]);
  await session.close();
});

test('an answer that could not be given can be given again', async () => {
  const refusals = [new Error('the service is away')];
  const session = startSession(() => refusals.pop());
  session.ask('call_1');
  await session.sees('Allow shell:run (call_1)?');
  session.write('y');
  await session.sees('the service is away');
  await session.sees('Allow shell:run (call_1)?', session.said().lastIndexOf('the service is away'));
  session.write('y');
  await until(() => session.done.length > 0);
  expect(session.done).toEqual([{ callId: 'call_1', answer: 'allow-once' }]);
  await session.close();
});

test('a chat whose events can no longer be read ends with the error, and reads no more input', async () => {
  const session = startSession();
  await session.sees('> ');
  session.break(new Error('the events cannot be read'));
  await expect(session.ended).rejects.toThrow('the events cannot be read');
  expect(session.input.isPaused()).toBe(true);
  expect(session.input.listenerCount('keypress')).toBe(0);
});
