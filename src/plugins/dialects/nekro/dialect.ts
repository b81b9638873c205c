import type { PluginDialect } from '../shared/plugin-dialect.ts';
import { keepCommentsInThread } from './reader/keep-comments-in-thread.ts';
import { loadOriginal, locateOriginal, requirementsAt } from './original/load-original.ts';
import { nekroPlugin } from './scaffold.ts';

/** Plugins in the style of Nekro Agent: modules that export a `NekroPlugin`, whose methods code in the sandbox calls. Those in Python have a loader. */
export const nekro: PluginDialect = {
  name: 'nekro',
  // What imports a plugin as it is gets `sdk.ts`, which reads comments itself.
  sdk: { imports: ['longshore/nekro'], file: new URL('./nekro-plugin.ts', import.meta.url) },
  loader: { locate: locateOriginal, load: loadOriginal, requirements: requirementsAt },
  transform: async (source, language) => (source.includes('mountSandboxMethod') ? keepCommentsInThread(source, language) : { source }),
  // A method gets its identity from its context.
  hasOwnIdentity: true,
  hasBareNames: true,
  pythonFiles: ['__init__.py'],
  original: 'an __init__.py or a plugin.py whose code makes a NekroPlugin of nekro_agent',
  scaffold: { files: nekroPlugin },
};
