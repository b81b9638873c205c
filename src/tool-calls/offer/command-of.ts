import type { CallModelArgs } from '../../contracts/activities.ts';
import type { Agent } from '../../contracts/agent.ts';
import type { StoredEntry, TranscriptEntry } from '../../contracts/transcript.ts';
import type { RegisteredTool, Registry } from '../../plugins/registry/registry.ts';
import { resultTextOf } from '../results/tool-result.ts';

/** The command of a plugin that a message calls. `said`: what the turn ends with; absent before the command was called. */
export interface CalledCommand {
  tool: RegisteredTool;
  text: string;
  said?: string;
}

type Place = Pick<CallModelArgs, 'turnId' | 'step' | 'mayBeCommand'>;

/**
 * The command that the message of a turn calls: the first of the agent's commands, by their ids, whose pattern it fits. Undefined where the model answers:
 * also when another message has joined the turn. The same for every attempt at the step.
 */
export async function commandOf(
  registry: Registry,
  agent: Agent,
  transcript: readonly StoredEntry[],
  { turnId, step, mayBeCommand }: Place,
): Promise<CalledCommand | undefined> {
  if (!mayBeCommand) return undefined;
  if (!registry.forAgent(agent).some(({ isCommand }) => isCommand)) return undefined;
  const ofTurn = transcript.filter((stored) => stored.turnId === turnId).map(({ entry }) => entry);
  const [message, ...others] = ofTurn.filter((entry) => entry.role === 'user');
  if (!message || others.length > 0) return undefined;
  const text = textOf(message);
  const tool = await commandFor(registry, agent, text);
  if (!tool || step === 0) return tool && { tool, text };
  const result = ofTurn.find((entry) => entry.role === 'tool');
  return result?.tool === tool.id ? { tool, text, said: resultTextOf(result.content) } : undefined;
}

/** The first command of the agent whose pattern a text fits. */
export async function commandFor(registry: Registry, agent: Agent, text: string): Promise<RegisteredTool | undefined> {
  for (const tool of registry.forAgent(agent)) if (tool.isCommand && (await tool.problemsOf({ text })).length === 0) return tool;
  return undefined;
}

export function textOf({ content }: TranscriptEntry & { role: 'user' }): string {
  return content
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
    .trim();
}
