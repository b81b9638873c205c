import { z } from 'zod';
import { jsonObject } from '../../common/arguments.ts';
import { failure } from '../../contracts/errors.ts';
import type { JsonObject } from '../../contracts/json.ts';
import { MAX_OUTPUT_SCHEMA } from '../../contracts/output.ts';
import type { Store } from '../../store/store.ts';
import type { CompileSchema } from '../../plugins/schemas/validate-arguments.ts';

/** What an answer has to fit: a schema of zod, or a JSON Schema of up to 65 536 characters. */
export type OutputSchema = z.ZodType | JsonObject;

/** A schema of zod as JSON Schema, or a JSON Schema as it is. */
export const asJsonSchema = z.unknown().transform((given, context) => {
  if (!isZod(given)) return given;
  try {
    // Without what zod adds to it beside the schema.
    return { ...z.toJSONSchema(given, { io: 'input' }) };
  } catch (error) {
    const message = `it cannot be written as JSON Schema (${(error as Error).message})`;
    context.addIssue({ code: 'custom', message, params: { fix: 'Use types that JSON has' } });
    return z.NEVER;
  }
});

/** The `output` of a message, as callers give it. */
export const outputSchema = asJsonSchema.pipe(jsonObject).superRefine((schema, context) => {
  const { length } = JSON.stringify(schema);
  if (length <= MAX_OUTPUT_SCHEMA) return;
  const fix = `Give up to ${MAX_OUTPUT_SCHEMA}`;
  context.addIssue({ code: 'custom', message: `it has ${length} characters as JSON`, params: { fix }, input: schema });
});

let compile: CompileSchema | undefined;

/** Compiles the schema of a message in a thread with a time limit, before anything is stored. @throws OUTPUT_INVALID */
export async function checkOutput(owner: string, output: JsonObject): Promise<void> {
  await checkSchema(`answers of ${owner}`, output, unusable);
}

/** Compiles a schema that a caller has given. @throws what `unusable` makes of the reason */
export async function checkSchema(owner: string, schema: JsonObject, unusable: (why: string, cause?: Error) => Error): Promise<void> {
  // The validators of schemas are loaded by the first message that has one.
  const { createSchemaCompiler } = await import('../../plugins/schemas/validate-arguments.ts');
  compile ??= createSchemaCompiler();
  await compile(owner, schema, unusable).compiled();
}

/** The same for a message to a conversation that exists. @throws OUTPUT_INVALID, CONVERSATION_NOT_FOUND */
export async function checkOutputIn({ conversations }: Pick<Store, 'conversations'>, conversationId: string, output: JsonObject): Promise<void> {
  const row = await conversations.get(conversationId);
  if (!row) throw failure('CONVERSATION_NOT_FOUND', { conversationId });
  await checkOutput(row.tenantId, output);
}

function unusable(why: string, cause?: Error): Error {
  const fix = 'Correct it; drafts 4, 6, 7, 2019-09 and 2020-12 are known';
  return failure('OUTPUT_INVALID', { problem: `it is not a valid JSON Schema (${why})`, fix }, cause);
}

function isZod(given: unknown): given is z.core.$ZodType {
  return typeof given === 'object' && given !== null && '_zod' in given;
}
