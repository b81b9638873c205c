import type { Agent } from '../contracts/agent.ts';
import { failure } from '../contracts/errors.ts';
import { createSchemaCompiler } from '../plugins/schemas/validate-arguments.ts';

/** Compiles the `output` of each agent. @throws AGENT_INVALID for one that is no JSON Schema */
export async function checkOutputs(agents: ReadonlyMap<string, Agent>): Promise<void> {
  const compile = createSchemaCompiler();
  for (const { id, output } of agents.values()) {
    if (!output) continue;
    const unusable = (why: string, cause?: Error) => {
      const problem = `is not a valid JSON Schema (${why})`;
      return failure('AGENT_INVALID', { file: id, path: 'output', problem, fix: 'Correct it; drafts 4, 6, 7, 2019-09 and 2020-12 are known' }, cause);
    };
    await compile(`agent ${id}`, output, unusable).compiled();
  }
}
