import { NATIVE_DIALECT } from '../../api/plugin-details.ts';
import type { PluginDialect } from '../shared/plugin-dialect.ts';
import { longshorePlugin } from './scaffold.ts';

/** Longshore's own dialect: modules that export what `definePlugin` returns. */
export const longshore: PluginDialect = {
  name: NATIVE_DIALECT,
  sdk: { imports: ['longshore/plugins', 'longshore'], file: new URL('../../api/define-plugin.ts', import.meta.url) },
  scaffold: { files: longshorePlugin },
};
