import type { PluginDialect } from '../shared/plugin-dialect.ts';
import { loadPandora } from './load-pandora.ts';
import { locateManifest } from './manifest.ts';
import { pandoraPlugin } from './scaffold.ts';

/** Plugins in the style of Pandora: a manifest that names entries, whose modules export lists of tools. */
export const pandora: PluginDialect = {
  name: 'pandora',
  sdk: { imports: ['@pandorakit/sdk/tools', '@pandorakit/sdk'], file: new URL('./sdk.ts', import.meta.url) },
  loader: { locate: locateManifest, load: loadPandora },
  scaffold: { files: pandoraPlugin },
};
