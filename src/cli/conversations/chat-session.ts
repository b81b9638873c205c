import { createInterface, type Interface } from 'node:readline';
import type { Attachment, Chat } from '../../client.ts';
import { visibleLine } from '../../contracts/visible-text.ts';
import { createChatState, type AskedApproval, type ChatState } from './chat-state.ts';
import { EXIT, printError, printFact, printLine, type Cli } from '../output/cli.ts';
import { createEventPrinter } from '../output/event-printer.ts';
import { loginName } from '../../platform/login-name.ts';

const PROMPTS = { message: '> ', paused: 'Paused. Enter resumes, Ctrl-C exits > ', nothing: '' };
/** Whole words only: a message that begins with "a" allows nothing. */
const ANSWERS = { y: 'allow-once', yes: 'allow-once', a: 'allow', always: 'allow', n: 'deny', no: 'deny' } as const;
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
  let isPausing = false;
  const interrupt = () => {
    if (state.wanted() !== 'nothing' || (isPausing && !terminal)) return leave(EXIT.interrupted);
    isPausing = true;
    printLine(cli, '\nPausing when the running step is done.');
    chat.pause({ note: 'Ctrl-C in the chat' }).catch((error: unknown) => complain(cli, error));
  };
  readline.on('SIGINT', interrupt);
  // Ctrl-C comes with the input of a terminal; with any other input, it is a signal.
  const release = terminal ? () => undefined : cli.onInterrupt(interrupt);
  const leaveWhenDone = () => {
    const code = state.codeAtEndOfInput(terminal);
    if (code !== undefined) leave(code);
  };
  const unsent = attach.map((path) => ({ path }));
  let taken = Promise.resolve();
  readline.on('line', (line) => {
    // A line answers what the person could read when it was entered, whatever waits by the time it is taken.
    const asked = terminal ? { wanted: state.wanted(), approval: prompt.entered() } : undefined;
    taken = taken
      .then(() => takeLine(chat, state, line, { terminal, unsent, ...(asked ?? { wanted: state.wanted(), approval: state.nextApproval() }) }))
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
  try {
    for await (const event of chat.events({ signal: leaving.signal })) {
      prompt.clear();
      print(event);
      state.follow(event);
      prompt.ask();
      leaveWhenDone();
    }
  } finally {
    // An input that is still read keeps the process alive, and takes its Ctrl-C.
    state.inputEnded = true;
    prompt.clear();
    readline.close();
    release();
  }
  await taken;
  return exitCode;
}

interface Entered {
  terminal: boolean;
  unsent: Attachment[];
  wanted: ReturnType<ChatState['wanted']>;
  /** The approval that the person was asked for. */
  approval: AskedApproval | undefined;
}

/** The meaning of a line depends on what the person was asked. */
async function takeLine(chat: Chat, state: ChatState, line: string, { terminal, unsent, wanted, approval }: Entered): Promise<void> {
  const text = line.trim();
  const given = Object.entries(ANSWERS).find(([word]) => word === text.toLowerCase())?.[1];
  if (wanted === 'approval' && (approval || given)) return answer(chat, state, { text, given, approval });
  if (wanted === 'paused' && text === '') return chat.resume();
  if (text === '') return;
  // A person who types while the agent works wants to steer it now; lines of a file are separate messages.
  const { turnId } = await chat.send(text, { whenBusy: terminal ? 'steer' : 'queue', ...(unsent.length > 0 && { attachments: [...unsent] }) });
  // What was refused is not given up: the next message has it.
  unsent.length = 0;
  state.sent(turnId);
}

interface GivenAnswer {
  text: string;
  given: (typeof ANSWERS)[keyof typeof ANSWERS] | undefined;
  approval: AskedApproval | undefined;
}

async function answer(chat: Chat, state: ChatState, { text, given, approval }: GivenAnswer): Promise<void> {
  if (text === '') return;
  if (!given) throw new Error('Not sent, and nothing was allowed: a call waits for an answer. Write y, a or n.');
  if (!approval) throw new Error('Nothing was answered: what waits now was not shown yet.');
  const { callId, hash } = approval;
  state.forget(callId);
  try {
    await chat.approve({ callId, hash, answer: given, by: loginName() ?? 'chat' });
  } catch (error) {
    state.askAgain(callId);
    throw error;
  }
}

interface Prompt {
  ask(): void;
  clear(): void;
  /** Returns the approval that the person was asked for when the line was entered. */
  entered(): AskedApproval | undefined;
}

function createPrompt({ out }: Cli, readline: Interface, state: ChatState, terminal: boolean): Prompt {
  let timer: NodeJS.Timeout | undefined;
  let isShown = false;
  let asked: AskedApproval | undefined;
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
      const before = asked;
      asked = undefined;
      return before?.callId === state.nextApproval()?.callId ? before : undefined;
    },
    ask() {
      clearTimeout(timer);
      if (!terminal) return;
      timer = setTimeout(() => {
        const text = promptText(state);
        readline.setPrompt(text);
        if (text === '' || state.inputEnded) return;
        readline.prompt(true);
        isShown = true;
        asked = state.nextApproval();
      }, PROMPT_DELAY_MS);
    },
  };
}

function promptText(state: ChatState): string {
  const wanted = state.wanted();
  if (wanted !== 'approval') return PROMPTS[wanted];
  const { tool, callId } = state.nextApproval() ?? { tool: '', callId: '' };
  return `Allow ${visibleLine(tool)} (${visibleLine(callId)})? y(es, once), a(lways), n(o) > `;
}

function complain(cli: Cli, error: unknown): void {
  printError(cli, error instanceof Error ? error.message : String(error));
}
