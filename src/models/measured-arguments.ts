import { wrapLanguageModel } from 'ai';
import { excessOf, inexactNumberIn } from '../contracts/foreign-json.ts';

export type LanguageModelOfProvider = Parameters<typeof wrapLanguageModel>[0]['model'];

/**
 * The same model. Arguments that would overflow the library's stack, take long to parse, or have numbers that it would change are reported and replaced with an
 * empty object.
 */
export function withMeasuredArguments(model: LanguageModelOfProvider, onProblem: (toolCallId: string, problem: string) => void): LanguageModelOfProvider {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v3',
      async wrapStream({ doStream }) {
        const { stream, ...rest } = await doStream();
        return { ...rest, stream: stream.pipeThrough(measuring(onProblem)) };
      },
    },
  });
}

type Part = Awaited<ReturnType<LanguageModelOfProvider['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;

function measuring(onProblem: (toolCallId: string, problem: string) => void): TransformStream<Part, Part> {
  return new TransformStream({
    transform(part, controller) {
      const problem = part.type === 'tool-call' ? problemOf(part.input) : undefined;
      if (part.type !== 'tool-call' || problem === undefined) return controller.enqueue(part);
      onProblem(part.toolCallId, problem);
      controller.enqueue({ ...part, input: '{}' });
    },
  });
}

function problemOf(json: string): string | undefined {
  const excess = excessOf(json);
  if (excess !== undefined) return `The arguments have JSON that ${excess}. Give a smaller value, or pass the path of a file`;
  const number = inexactNumberIn(json);
  return number === undefined ? undefined : `The arguments have the number ${number}, which would be rounded. Send it as a string, if the tool takes one`;
}
