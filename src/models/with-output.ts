import { wrapLanguageModel } from 'ai';
import type { JsonObject } from '../contracts/json.ts';
import type { LanguageModelOfProvider } from './measured-arguments.ts';

/** The same model, asked for answers that fit a schema. Providers take only schemas of objects; others are in the instructions alone. */
export function withOutput(model: LanguageModelOfProvider, output: JsonObject | undefined): LanguageModelOfProvider {
  if (output?.['type'] !== 'object') return model;
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v3',
      transformParams: async ({ params }) => ({ ...params, responseFormat: { type: 'json', schema: output, name: 'answer' } }),
    },
  });
}
