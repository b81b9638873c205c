import { wrapLanguageModel } from 'ai';
import { excessOf } from '../contracts/foreign-json.ts';

export type LanguageModelOfProvider = Parameters<typeof wrapLanguageModel>[0]['model'];

/** The same model. Arguments that would overflow the library's stack, or take long to parse, are reported and replaced with an empty object. */
export function withMeasuredArguments(model: LanguageModelOfProvider, onExcess: (toolCallId: string, excess: string) => void): LanguageModelOfProvider {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v3',
      async wrapStream({ doStream }) {
        const { stream, ...rest } = await doStream();
        return { ...rest, stream: stream.pipeThrough(measuring(onExcess)) };
      },
    },
  });
}

type Part = Awaited<ReturnType<LanguageModelOfProvider['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;

function measuring(onExcess: (toolCallId: string, excess: string) => void): TransformStream<Part, Part> {
  return new TransformStream({
    transform(part, controller) {
      const excess = part.type === 'tool-call' ? excessOf(part.input) : undefined;
      if (part.type !== 'tool-call' || excess === undefined) return controller.enqueue(part);
      onExcess(part.toolCallId, excess);
      controller.enqueue({ ...part, input: '{}' });
    },
  });
}
