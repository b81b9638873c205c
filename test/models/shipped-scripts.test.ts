import { loadAgents } from '../../src/definitions/agents/load-agents.ts';
import { readScript } from '../../src/models/script-file.ts';

const root = new URL('../../', import.meta.url).pathname;

describe('what comes with Longshore', () => {
  test.each(['agents', 'bench/agents', 'examples/demo/agents', 'examples/fleet/agents', 'examples/agents'])(
    'the agents of %s load, and their scripts with them',
    async (directory) => {
      process.env.LONGSHORE_DEMO_MODEL = 'scripted/../script.yaml';
      process.env.LONGSHORE_DEMO_RUNTIME = 'runc';
      const agents = [...(await loadAgents(root + directory)).values()];
      expect(agents.length).toBeGreaterThan(0);
      for (const { model } of agents) {
        if (model.startsWith('scripted/')) expect((await readScript(model.slice('scripted/'.length))).steps.length).toBeGreaterThan(0);
      }
    },
  );
});
