import type { PluginDialect } from '../shared/plugin-dialect.ts';
import { keepComments } from './keep-comments.ts';
import { nekroPlugin } from './scaffold.ts';

/** Plugins in the style of Nekro Agent: modules that export a `NekroPlugin`, whose methods code in the sandbox calls. */
export const nekro: PluginDialect = {
  name: 'nekro',
  sdk: { imports: ['longshore/nekro'], file: new URL('./sdk.ts', import.meta.url) },
  transform: (source) => (source.includes('.mountSandboxMethod(') ? keepComments(source) : source),
  // A method gets its identity from its context.
  hasOwnIdentity: true,
  hasBareNames: true,
  pythonFiles: ['__init__.py'],
  scaffold: { files: nekroPlugin },
};
