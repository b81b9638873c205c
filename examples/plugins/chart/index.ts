/** Bar charts as images. */
import { definePlugin, defineTool } from 'longshore/plugins';
import { z } from 'zod';
import { drawBars } from './draw-bars.ts';
import { encodePng } from './encode-png.ts';

export default definePlugin({
  id: 'chart',
  version: '1.0.0',
  description: 'Charts as images',
  tools: [
    defineTool({
      id: 'bars',
      description: 'Draws a bar chart of numbers and shows it to the user. The bars come in the order of the numbers; those below 0 hang down.',
      parameters: z.object({
        values: z.array(z.number()).min(1).max(50),
        width: z.int().min(50).max(800).default(400),
        height: z.int().min(50).max(600).default(200),
      }),
      kind: 'multimodal_agent',
      annotations: { readOnlyHint: true },
      summarize: ({ values }) => `${values.length} bars`,
      async execute({ values, width, height }, { send }) {
        const picture = { type: 'image' as const, mediaType: 'image/png', data: encodePng(drawBars(values, width, height)) };
        await send(picture);
        return { content: [{ type: 'text', text: `A chart of ${values.length} bars, ${width} × ${height}.` }, picture] };
      },
    }),
  ],
});
