/** Weather by coordinates, from a service of the Open-Meteo kind. */
import { definePlugin, defineTool } from 'longshore/plugins';
import { z } from 'zod';

const HOST = 'api.open-meteo.com';

const answer = z.object({ current: z.object({ temperature_2m: z.number(), wind_speed_10m: z.number(), precipitation: z.number() }) });

export default definePlugin({
  id: 'weather',
  version: '1.0.0',
  description: 'Weather of now',
  configSchema: {
    type: 'object',
    additionalProperties: false,
    properties: { units: { enum: ['celsius', 'fahrenheit'], default: 'celsius', description: 'Unit of temperatures.' } },
  },
  tools: [
    defineTool({
      id: 'now',
      description: 'Temperature, wind and rain of now at a place on Earth.',
      parameters: z.object({ latitude: z.number().min(-90).max(90), longitude: z.number().min(-180).max(180) }),
      annotations: { readOnlyHint: true, openWorldHint: true },
      permissions: { network: [HOST] },
      timeoutMs: 15_000,
      summarize: ({ latitude, longitude }) => `${latitude}, ${longitude}`,
      async execute({ latitude, longitude }, { fetch, config }) {
        const units = config['units'] === 'fahrenheit' ? 'fahrenheit' : 'celsius';
        const query = `latitude=${latitude}&longitude=${longitude}&temperature_unit=${units}&current=temperature_2m,wind_speed_10m,precipitation`;
        const response = await fetch(`https://${HOST}/v1/forecast?${query}`);
        if (!response.ok) throw new Error(`the weather service answered with ${response.status}`);
        const { current } = answer.parse(await response.json());
        return { temperature: current.temperature_2m, unit: units, windKmh: current.wind_speed_10m, rainMm: current.precipitation };
      },
    }),
  ],
});
