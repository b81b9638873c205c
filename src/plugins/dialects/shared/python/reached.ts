import type { JsonObject } from '../../../../contracts/json.ts';
import type { PluginTimer } from '../../../../contracts/plugins/timer.ts';
import type { SandboxServer } from '../../../../sandbox/api/host-methods.ts';
import type { OwnSandbox } from '../../../api/own-sandbox.ts';

/** The timers of one plugin. */
export interface TimersOfPlugin {
  set(conversationId: string, timer: PluginTimer): Promise<'set' | 'closed' | 'full'>;
  waiting(conversationId: string): Promise<PluginTimer[]>;
  clear(conversationId: string, which: { timerIds: string[] }): Promise<void>;
}

/** How the tools of a plugin reach its process. */
export interface Reached {
  pluginId: string;
  timers: TimersOfPlugin;
  own: OwnSandbox;
  /** The server for the configuration that holds now. */
  server: () => SandboxServer;
  /** What each request says of the configuration. */
  settings: () => { config?: JsonObject };
}
