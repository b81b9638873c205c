import { z } from 'zod';
import { unwatch, watch } from './watched-resources.ts';
import type { OfferedTool, Reading } from './server-call.ts';

const parameters = z.strictObject({
  uri: z.string().min(1).max(8_000).describe('Address of the resource, as for read_resource.'),
  stop: z.boolean().default(false).describe('Watch it no longer.'),
});

/** The tool with which a model is told of resources that change. */
export function watchTool(reading: Reading): OfferedTool {
  return {
    tool: reading(
      'watch_resource',
      'Watches a resource of this server: when the server says that it has changed, you are told so in the next step, until you read it with read_resource.',
      parameters,
    ),
    run: async (input, ask, { store }) => {
      const { uri, stop } = parameters.parse(input);
      if (stop) return (await unwatch(store, uri)) ? 'It is watched no longer.' : 'It was not watched.';
      await watch(store, uri, ask);
      return 'It is watched.';
    },
  };
}
