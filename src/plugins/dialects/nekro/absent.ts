/** Names of the original system that do not exist here, with what to do instead. A property that is only undefined would be noticed much later. */
type Absent = Record<string, string>;

const CHANNELS = 'there are no chat channels here; ctx.chatKey is the conversation';
const MESSAGES = 'only the agent receives messages; tell it with mountPromptInject what it has to know about them';
const HTTP = 'plugins serve no HTTP; let a backend service start conversations or send messages with the client of Longshore';
const FILES = 'a plugin has no directory of the host; keep values with plugin.store, and files in the sandbox with ctx.fs';

const OF_PLUGIN: Absent = {
  config: 'use plugin.getConfig() while a method runs',
  getPluginDataDir: FILES,
  getPluginPath: FILES,
  mountConfig: 'give the JSON Schema of the configuration to the constructor, as configSchema',
  mountPromptInjectMethod: 'write mountPromptInject',
  mountOnChannelReset: 'nothing resets a conversation; a new one begins with nothing in its store',
  mountOnUserMessage: MESSAGES,
  mountOnSystemMessage: MESSAGES,
  mountWebhookMethod: HTTP,
  mountRouter: HTTP,
  mountAsyncTask: 'a method may run as long as its timeoutMs allows; ctx.pushSystem with triggerAgent informs the agent meanwhile',
  mountCommand: 'a chat has no commands; operators use the command line',
  onEnabled: 'use mountInitMethod',
  onDisabled: 'use mountCleanupMethod',
  mountOnEnabled: 'use mountInitMethod',
  mountOnDisabled: 'use mountCleanupMethod',
};

const OF_CONTEXT: Absent = {
  channelId: CHANNELS,
  channelName: CHANNELS,
  channelType: CHANNELS,
  containerKey: 'the sandbox is that of the conversation; work in it with ctx.fs',
  dbUser: 'there is no table of users; ctx.userId is the user of the conversation',
  fromPlatformUserid: 'use ctx.userId',
  getCoreConfig: "plugins do not see the service's own configuration; theirs is ctx.config",
  presets: "the instructions in the agent's file describe the agent",
  webhookRequest: HTTP,
};

const OF_FILES: Absent = {
  uploadPath: 'there is no directory for uploads; files for the sandbox are below ctx.fs.sharedPath',
  uploadsPath: 'there is no directory for uploads; files for the sandbox are below ctx.fs.sharedPath',
  getFilePath: 'files of the sandbox have no path on the host; ctx.fs.getFile gives the bytes',
};

/** Options that have no effect here; a plugin that sets them works. */
export const IDLE_OPTIONS: Absent = {
  supportAdapter: 'there are no chat adapters',
  isBuiltin: 'the agents that name a plugin say where it comes from',
  isPackage: 'the agents that name a plugin say where it comes from',
  i18nName: 'names are shown in one language',
  i18nDescription: 'descriptions are shown in one language',
  webuiPath: 'plugins have no pages of their own',
};

/** Makes each read of a missing name an error that says what to use. `names` are the existing names, which the original writes with underscores. */
export function refuseAbsentOfPlugin(prototype: object, names: string[]): void {
  refuse(prototype, 'plugin', OF_PLUGIN, names);
}

/** The prototype of contexts or of their `fs`. */
export function absentOf(part: 'ctx' | 'ctx.fs', names: string[]): object {
  const prototype = {};
  refuse(prototype, part, part === 'ctx' ? OF_CONTEXT : OF_FILES, names);
  return prototype;
}

function refuse(target: object, owner: string, absent: Absent, names: string[]): void {
  const written = names.map((name) => [toUnderscores(name), `write ${name}`] as const).filter(([name]) => name.includes('_'));
  const others = Object.entries(absent).map(([name, advice]) => [toUnderscores(name), advice] as const);
  for (const [name, advice] of new Map([...written, ...others, ...Object.entries(absent)])) {
    Object.defineProperty(target, name, {
      get() {
        throw new Error(`${owner} has no ${name}: ${advice}`);
      },
    });
  }
}

function toUnderscores(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
