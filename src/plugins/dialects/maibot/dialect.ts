import type { PluginDialect } from '../shared/plugin-dialect.ts';
import { loadOriginal, locateOriginal } from './original/load-original.ts';
import { readManifest } from './original/manifest.ts';
import { handlerResultOf } from './results.ts';
import { maibotPlugin } from './scaffold.ts';

/** Plugins in the style of MaiBot: modules whose `createPlugin()` makes an instance of a class. Those that are written for MaiBot itself, in Python, have a loader. */
export const maibot: PluginDialect = {
  name: 'maibot',
  sdk: { imports: ['longshore/maibot'], file: new URL('./sdk.ts', import.meta.url) },
  loader: {
    locate: locateOriginal,
    load: (plugin) => loadOriginal(plugin, handlerResultOf),
    requirements: async (name, root) => (await readManifest(name, root)).requirements,
  },
  hookNames: { load: 'onLoad', unload: 'onUnload', updateConfig: 'onConfigUpdate' },
  pythonFiles: ['plugin.py', '_manifest.json'],
  original: 'plugin.py and _manifest.json',
  scaffold: { files: maibotPlugin },
};
