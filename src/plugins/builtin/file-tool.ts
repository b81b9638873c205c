import { z } from 'zod';
import type { JsonObject } from '../../contracts/json.ts';
import { defineTool, type Tool, type ToolAnnotations } from '../api/define-plugin.ts';
import { ProgramRefusal, runProgram } from './run-program.ts';

interface FileToolDefinition<Parameters extends z.ZodType<JsonObject>, Answer> {
  id: string;
  description: string;
  parameters: Parameters;
  annotations: ToolAnnotations;
  /** Text of the Python program for `runProgram`. Its function `main` is given the tool's arguments. */
  program: string;
  /** Schema of the program's answer. */
  answer: z.ZodType<Answer>;
  /** The answer as the model reads it. */
  present(answer: Answer, input: z.infer<Parameters>): string;
}

export const path = z.string().min(1).max(4096).describe('Absolute, or relative to /home/user.');

/** A tool that runs one Python program in the sandbox. A refusal of the program becomes an error result. */
export function fileTool<Parameters extends z.ZodType<JsonObject>, Answer>(definition: FileToolDefinition<Parameters, Answer>): Tool {
  const { id, description, parameters, annotations, program, answer } = definition;
  return defineTool<z.ZodType<JsonObject>>({
    id,
    description,
    parameters,
    annotations,
    isolation: 'container',
    summarize: ({ pattern, path }) => [pattern, path].filter((text) => typeof text === 'string').join(' in '),
    async execute(input, { sandbox }) {
      try {
        return definition.present(await runProgram(sandbox, program, input, answer), input as z.infer<Parameters>);
      } catch (error) {
        if (!(error instanceof ProgramRefusal)) throw error;
        return { content: [{ type: 'text', text: error.message }], isError: true };
      }
    },
  });
}
