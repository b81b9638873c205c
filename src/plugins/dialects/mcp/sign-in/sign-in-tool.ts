import type { ToolContext } from '../../../api/define-plugin.ts';
import { defineTool, type Tool } from '../../../api/define-plugin.ts';

/** The tool of a server that does not tell its tools before the user has signed in. `tools`: their names, after a sign-in if one is needed. */
export function createSignInTool(server: string, tools: (context: ToolContext) => Promise<string[]>): Tool {
  const tool = defineTool({
    id: 'sign_in',
    description: `Asks the user to sign in at ${server}, whose tools are available after that. Call it when you need ${server}; the user gets a link, and you have the result when they have signed in.`,
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { title: `Sign in at ${server}`, idempotentHint: true, destructiveHint: false },
    // The person is asked by the sign-in itself.
    requireApproval: false,
    execute: async (_input, context) => {
      const names = await tools(context);
      return `The user is signed in at ${server}. Its tools, from now on: ${names.join(', ') || 'none'}.`;
    },
  });
  return { ...tool, mayAsk: true, mayGoOn: async () => true };
}
