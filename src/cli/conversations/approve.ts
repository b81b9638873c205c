import { Argument, Command, InvalidArgumentError } from 'commander';
import type { ApprovalAnswer } from '../../contracts/conversation.ts';
import { inexactNumberIn } from '../../contracts/foreign-json.ts';
import { isObject, type JsonObject } from '../../contracts/json.ts';
import { printFact, withClient, type Cli } from '../output/cli.ts';
import { loginName } from '../../platform/login-name.ts';

interface ApproveCommandOptions {
  reason?: string;
  by?: string;
  arguments?: JsonObject;
  hash?: string;
}

export function approveCommand(cli: Cli): Command {
  return new Command('approve')
    .description('Answer a pending approval, which "longshore show" lists')
    .argument('<id>', 'conversation')
    .argument('<callId>', 'the call that waits')
    .addArgument(new Argument('<answer>', 'allow also allows the tool for the rest of the conversation').choices(['allow', 'allow-once', 'deny']))
    .option('--reason <text>', 'shown to the agent')
    .option('--by <name>', 'who answers; shown in the events', loginName())
    .option('--arguments <json>', 'arguments to run with instead of those the agent gave', jsonObject)
    .option('--hash <hash>', 'answer only if the call is still the one with this hash')
    .action((id: string, callId: string, answer: ApprovalAnswer, options: ApproveCommandOptions) =>
      withClient(cli, async (longshore) => {
        const { arguments: editedArguments, ...rest } = options;
        await longshore.approve(id, { callId, answer, ...rest, ...(editedArguments && { editedArguments }) });
        printFact(cli, `${callId}: ${answer}.`);
      }),
    );
}

function jsonObject(text: string): JsonObject {
  try {
    const value = JSON.parse(text) as unknown;
    if (isObject(value)) return exact(value, text);
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
  }
  throw new InvalidArgumentError('Give a JSON object.');
}

function exact(value: JsonObject, text: string): JsonObject {
  const number = inexactNumberIn(text);
  if (number === undefined) return value;
  throw new InvalidArgumentError(`Its number ${number} would be rounded. Write it as a string.`);
}
