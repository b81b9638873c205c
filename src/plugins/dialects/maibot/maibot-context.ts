import type { JsonObject } from '../../../contracts/json.ts';
import type { ContentPart } from '../../../contracts/transcript.ts';
import type { PluginHost } from '../../api/plugin.ts';
import type { ToolContext } from '../../api/tool-context.ts';

type Write = (message: string, values?: object) => void;

/** The value of `this.ctx` in a plugin. All fields except `config` and `logger` work only while one of its tools runs, and belong to that call. */
export interface MaiBotContext extends Pick<ToolContext, 'env' | 'store' | 'files' | 'fetch' | 'sandbox'> {
  /** Sends something to the user at once and resolves to true. The stream must be that of the call; any other is refused. */
  send: {
    text(text: string, streamId?: string): Promise<true>;
    /** `data`: base 64. */
    image(data: string, streamId?: string, mediaType?: string): Promise<true>;
    file(file: { name: string; data: string; mediaType?: string }, streamId?: string): Promise<true>;
  };
  config: JsonObject;
  logger: { debug: Write; info: Write; warning: Write; warn: Write; error: Write };
}

/** State of the plugin to which a context belongs. */
export interface MaiBotState {
  /** What it was loaded with. */
  host: PluginHost | undefined;
  config: JsonObject;
  /** Returns the call that is under way. */
  current: () => ToolContext | undefined;
}

/** Names in the original's `ctx` that do not exist here, with the replacement where there is one. */
const ABSENT: Record<string, string> = {
  api: '',
  chat: 'stream_id and user_id, which handlers are given',
  component: '',
  db: 'ctx.store',
  emoji: 'ctx.send.image',
  frequency: '',
  gateway: '',
  knowledge: '',
  llm: '',
  logging: 'ctx.logger',
  message: 'the message, which handlers are given',
  paths: 'ctx.store, or ctx.files',
  person: 'user_id, which handlers are given',
  render: '',
  statistics: '',
  tool: '',
};
const ABSENT_SENDS: Record<string, string> = {
  command: '',
  custom: 'ctx.send.file',
  emoji: 'ctx.send.image',
  forward: 'ctx.send.text for each message',
  hybrid: 'ctx.send.text and ctx.send.image',
};

export function createMaiBotContext(state: MaiBotState): MaiBotContext {
  const call = (what: string): ToolContext => {
    const context = state.current();
    if (!context) throw new Error(`ctx.${what} works only while a tool runs`);
    return context;
  };
  const send = async (part: ContentPart, streamId: string | undefined): Promise<true> => {
    const context = call('send');
    if (streamId !== undefined && streamId !== context.conversationId) throw new Error(`ctx.send: the stream "${streamId}" is not the one of this call`);
    await context.send(part);
    return true;
  };
  const sends: MaiBotContext['send'] = {
    text: (text, streamId) => send({ type: 'text', text }, streamId),
    image: (data, streamId, mediaType = 'image/png') => send({ type: 'image', mediaType, data }, streamId),
    file: ({ name, data, mediaType = 'application/octet-stream' }, streamId) => send({ type: 'file', mediaType, name, data }, streamId),
  };
  const context: MaiBotContext = {
    send: tellAbsent(sends, 'ctx.send', ABSENT_SENDS),
    logger: createLogger(state),
    get config() {
      return state.config;
    },
    get env() {
      return call('env').env;
    },
    get store() {
      return call('store').store;
    },
    get files() {
      return call('files').files;
    },
    get sandbox() {
      return call('sandbox').sandbox;
    },
    get fetch() {
      return call('fetch').fetch;
    },
  };
  return tellAbsent(context, 'ctx', ABSENT);
}

/** Makes each use of a missing name an error that names the replacement. */
function tellAbsent<Part extends object>(part: Part, of: string, absent: Record<string, string>): Part {
  for (const [name, instead] of Object.entries(absent)) {
    Object.defineProperty(part, name, {
      get() {
        throw new Error(`${of}.${name} does not exist here${instead ? `; use ${instead}` : ''}`);
      },
    });
  }
  return part;
}

function createLogger(state: MaiBotState): MaiBotContext['logger'] {
  const logger = () => state.current()?.logger ?? state.host?.logger;
  const info: Write = (message, values) => logger()?.info(message, values);
  const warn: Write = (message, values) => logger()?.warn(message, values);
  return { debug: info, info, warning: warn, warn, error: warn };
}
