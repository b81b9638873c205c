import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type ChatInit,
  type ChatState,
  type DynamicToolUIPart,
  type UIMessage,
} from 'ai';
import { until } from '../../e2e/support.ts';

/** A page that uses the AI SDK, without what draws it: the client is the real one. */
export class Page extends AbstractChat<UIMessage> {
  constructor(init: ChatInit<UIMessage>) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages: init.messages ?? [],
      pushMessage: (message) => {
        state.messages = [...state.messages, message];
      },
      popMessage: () => {
        state.messages = state.messages.slice(0, -1);
      },
      replaceMessage: (index, message) => {
        state.messages = state.messages.with(index, structuredClone(message));
      },
      snapshot: structuredClone,
    };
    super({ ...init, state });
  }

  /** The last message of the agent. */
  get answer(): UIMessage {
    return this.messages.findLast(({ role }) => role === 'assistant') ?? { id: '', role: 'assistant', parts: [] };
  }

  get text(): string {
    return this.answer.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
  }

  get calls(): DynamicToolUIPart[] {
    return this.answer.parts.filter((part) => part.type === 'dynamic-tool');
  }

  /** Nothing is on its way, and nothing will be sent by itself. */
  async settled(): Promise<void> {
    await until(() => Promise.resolve(this.status === 'ready' || this.status === 'error'), 'the page has its answer');
  }
}

export interface PageOptions extends Omit<ChatInit<UIMessage>, 'transport'> {
  url: string;
  headers: Record<string, string>;
  body?: object;
}

/** A page whose every request is counted. */
export function openPage({ url, headers, body, ...init }: PageOptions): { page: Page; requests: { method: string; messages?: UIMessage[] }[] } {
  const requests: { method: string; messages?: UIMessage[] }[] = [];
  const counted: typeof fetch = (input, given) => {
    requests.push({ method: given?.method ?? 'GET', ...(typeof given?.body === 'string' && (JSON.parse(given.body) as { messages: UIMessage[] })) });
    return fetch(input, given);
  };
  const transport = new DefaultChatTransport<UIMessage>({ api: `${url}/api/chat`, headers, body: body ?? {}, fetch: counted });
  // Both of the helpers that pages use: the second one would answer calls of tools that it took for the page's own.
  const sendAutomaticallyWhen: NonNullable<ChatInit<UIMessage>['sendAutomaticallyWhen']> = (options) =>
    lastAssistantMessageIsCompleteWithApprovalResponses(options) || lastAssistantMessageIsCompleteWithToolCalls(options);
  return { page: new Page({ sendAutomaticallyWhen, ...init, transport }), requests };
}
