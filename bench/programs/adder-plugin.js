/** The plugin that `plugin-call` measures, with a tool in a compartment. */
export default {
  id: 'adder',
  tools: [
    {
      id: 'add',
      description: 'adds',
      parameters: { type: 'object' },
      kind: 'tool',
      annotations: {},
      timeoutMs: 10_000,
      isolation: 'compartment',
      execute: async ({ a, text }) => ({ sum: a + text.length }),
    },
  ],
};
