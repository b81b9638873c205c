import { readEnvironment } from '../config.ts';
import { failure } from '../contracts/errors.ts';
import type { PluginServices } from './plugin-services.ts';

/** The services of a worker whose plugins have no configuration of their own. */
export function createPluginServices(): PluginServices {
  return {
    environment: readEnvironment,
    configOf: () => ({}),
    fetchFor: (hosts) => async (url) => {
      throw failure('TOOL_FAILED', {
        tool: 'fetch',
        problem: `${String(url)} cannot be reached; this worker lets tools reach ${hosts.join(', ') || 'no host'} only through isolates`,
      });
    },
  };
}
