import { createInterface, type Interface } from 'node:readline';
import type { Attachment, Chat } from '../../client.ts';
import { createChatState, type ChatState } from './chat-state.ts';
import { EXIT, printError, printFact, printLine, type Cli } from '../output/cli.ts';
import { createEventPrinter } from '../output/event-printer.ts';
import { loginName } from '../../platform/login-name.ts';

const PROMPTS = { message: '> ', approval: 'Allow it? y(es, once), a(lways), n(o) > ', paused: 'Paused. Enter resumes, Ctrl-C exits > ', nothing: '' };
/** After a burst of events, the person is prompted once. */
const PROMPT_DELAY_MS = 60;

/** Files of `attach` go with the first message. Runs until the person leaves, the input ends and everything is answered, or the conversation closes. Returns the exit code. */
export async function runChatSession(cli: Cli, chat: Chat, attach: readonly string[] = []): Promise<number> {
  const terminal = cli.in.isTTY === true;
  const state = createChatState();
  const leaving = new AbortController();
  const readline = createInterface({ input: cli.in, output: cli.out.stream, terminal });
  const prompt = createPrompt(cli, readline, state, terminal);
  let exitCode: number = EXIT.done;
  const leave = (code: number) => {
    exitCode = code;
    leaving.abort();
  };
  readline.on('SIGINT', () => {
    if (state.wanted() !== 'nothing') return leave(EXIT.interrupted);
    printLine(cli, '\nPausing when the running step is done.');
    chat.pause({ note: 'Ctrl-C in the chat' }).catch((error: unknown) => complain(cli, error));
  });
  const leaveWhenDone = () => {
    const code = state.codeAtEndOfInput(terminal);
    if (code !== undefined) leave(code);
  };
  const unsent = attach.map((path) => ({ path }));
  let taken = Promise.resolve();
  readline.on('line', (line) => {
    prompt.entered();
    taken = taken
      .then(() => takeLine(chat, state, line, { terminal, unsent }))
      .catch((error: unknown) => complain(cli, error))
      .then(() => prompt.ask());
  });
  readline.on('close', () => {
    const end = () => {
      state.inputEnded = true;
      leaveWhenDone();
    };
    taken = taken.then(end, end);
  });

  printFact(cli, `${chat.id}. Ctrl-C pauses, Ctrl-D leaves.`);
  prompt.ask();
  const print = createEventPrinter(cli);
  for await (const event of chat.events({ signal: leaving.signal })) {
    prompt.clear();
    print(event);
    state.follow(event);
    prompt.ask();
    leaveWhenDone();
  }
  prompt.clear();
  readline.close();
  await taken;
  return exitCode;
}

/** The meaning of a line depends on what the person was asked. */
async function takeLine(chat: Chat, state: ChatState, line: string, { terminal, unsent }: { terminal: boolean; unsent: Attachment[] }): Promise<void> {
  const text = line.trim();
  const wanted = state.wanted();
  if (wanted === 'approval') return answer(chat, state, text);
  if (wanted === 'paused' && text === '') return chat.resume();
  if (text === '') return;
  // A person who types while the agent works wants to steer it now; lines of a file are separate messages.
  const { turnId } = await chat.send(text, { whenBusy: terminal ? 'steer' : 'queue', ...(unsent.length > 0 && { attachments: [...unsent] }) });
  // What was refused is not given up: the next message has it.
  unsent.length = 0;
  state.sent(turnId);
}

async function answer(chat: Chat, state: ChatState, text: string): Promise<void> {
  const given = ({ y: 'allow-once', a: 'allow', n: 'deny' } as const)[text.toLowerCase().slice(0, 1)];
  const approval = state.nextApproval();
  if (!given || !approval) return;
  state.forget(approval.callId);
  await chat.approve({ ...approval, answer: given, by: loginName() ?? 'chat' });
}

function createPrompt({ out }: Cli, readline: Interface, state: ChatState, terminal: boolean): { ask(): void; clear(): void; entered(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isShown = false;
  const clear = () => {
    clearTimeout(timer);
    // The next output replaces the prompt.
    if (isShown) out.clearLine();
    isShown = false;
  };
  return {
    clear,
    entered() {
      isShown = false;
    },
    ask() {
      clearTimeout(timer);
      if (!terminal) return;
      timer = setTimeout(() => {
        const text = PROMPTS[state.wanted()];
        readline.setPrompt(text);
        if (text === '' || state.inputEnded) return;
        readline.prompt(true);
        isShown = true;
      }, PROMPT_DELAY_MS);
    },
  };
}

function complain(cli: Cli, error: unknown): void {
  printError(cli, error instanceof Error ? error.message : String(error));
}
