import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAgentsPlugin } from '../../../src/plugins/builtin/agents.ts';
import { createAttachmentsPlugin } from '../../../src/plugins/builtin/attachments.ts';
import { BUILTIN_IDS, BUILTIN_PLUGINS } from '../../../src/plugins/builtin/builtin-plugins.ts';
import { createContextPlugin } from '../../../src/plugins/builtin/context.ts';
import { createMemoryPlugin } from '../../../src/plugins/builtin/memory/memory.ts';
import { createPlanPlugin } from '../../../src/plugins/builtin/plan.ts';
import { createSkillsPlugin } from '../../../src/plugins/builtin/skills.ts';
import { createToolsPlugin } from '../../../src/plugins/builtin/tools.ts';

test('the ids that are refused for other plugins are those of all plugins that come with Longshore', async () => {
  const none = {} as never;
  const made = [
    createAgentsPlugin(new Map()),
    createAttachmentsPlugin(none),
    createContextPlugin(none),
    createMemoryPlugin(none),
    createPlanPlugin(new Map(), none),
    createSkillsPlugin(none),
    createToolsPlugin(none),
    ...BUILTIN_PLUGINS,
  ];
  expect([...made.map(({ id }) => id), 'client'].toSorted()).toEqual(BUILTIN_IDS);
  const directory = 'src/plugins/builtin';
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith('.ts'));
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
  expect(texts.filter((text) => text.includes('definePlugin({'))).toHaveLength(made.length);
});
