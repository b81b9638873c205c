import { isDeepStrictEqual } from 'node:util';
import type { EditArgumentsArgs, EditArgumentsResult } from '../../contracts/activities.ts';
import { failure } from '../../contracts/errors.ts';
import { isObject, type JsonObject } from '../../contracts/json.ts';
import { showValue } from '../../common/show-value.ts';
import { createSchemaCompiler } from '../../plugins/schemas/validate-arguments.ts';
import type { Store } from '../../store/store.ts';
import { hashOfQuestion } from '../../tool-calls/questions/propose-question.ts';

const compile = createSchemaCompiler();

/** Stores a person's answer to a question of a server: `answer` of the arguments. Nothing else of them can be changed, and the model is told nothing of it. */
export async function answerQuestion(
  { toolCalls }: Pick<Store, 'toolCalls'>,
  { callId, tool, editedArguments }: Pick<EditArgumentsArgs, 'callId' | 'tool' | 'editedArguments'>,
): Promise<EditArgumentsResult> {
  const row = await toolCalls.get(callId);
  if (!row) throw failure('TOOL_CALL_NOT_FOUND', { callId });
  const answered: JsonObject = { ...row.arguments, ...editedArguments };
  const problem = await problemOf(row.arguments, answered);
  if (problem !== undefined) return { outcome: 'invalid', message: problem };
  const hash = hashOfQuestion(tool, answered);
  if (!(await toolCalls.edit(callId, answered, hash)) && (await toolCalls.get(callId))?.hash !== hash) {
    return { outcome: 'invalid', message: 'the question has ended; it cannot be answered any more' };
  }
  return { outcome: 'edited', hash, arguments: answered };
}

async function problemOf(asked: JsonObject, { answer, ...rest }: JsonObject): Promise<string | undefined> {
  const { answer: _suggested, ...question } = asked;
  const isForm = isObject(asked['schema']);
  if (!isDeepStrictEqual(rest, question) || (!isForm && answer !== undefined)) {
    const fix = isForm ? 'only "answer" can be given, an object of its fields' : 'it is answered without arguments, when the page has been opened';
    return `the question is the server's: ${fix}`;
  }
  if (!isForm) return undefined;
  if (!isObject(answer)) return `answer: must be an object of the fields of the form, and is ${showValue(answer)}`;
  const check = compile('elicitation', asked['schema'] as JsonObject, (why) => new Error(why));
  const problems = await check(answer);
  return problems.length === 0 ? undefined : problems.map((each) => (each.startsWith('/') ? `answer${each}` : `answer: ${each}`)).join('; ');
}
