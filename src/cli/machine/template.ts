import { loadAgents, templatesBeside } from '../../definitions/agents/load-agents.ts';
import { findTemplate } from '../../definitions/templates/find-template.ts';
import { buildTemplate } from '../../images/build-template.ts';
import { loadTemplates } from '../../definitions/templates/load-templates.ts';
import { removeTemplate } from '../../images/remove-template.ts';
import type { Template } from '../../definitions/templates/template.ts';
import { containersFrom, templateImages } from '../../images/template-images.ts';
import { EXIT, printFact, printJson, printLine, type Cli } from '../output/cli.ts';
import { printTable } from '../output/table.ts';

export async function buildTemplates(cli: Cli, names: string[], force: boolean): Promise<void> {
  const { directory, templates } = await load(cli);
  const chosen = names.length === 0 ? [...templates.values()] : names.map((name) => findTemplate(templates, name, directory));
  if (chosen.length === 0) printFact(cli, `No templates in ${directory}.`);
  const said = { present: 'is built', built: 'built', nothing: 'has nothing to build' };
  const interrupted = new AbortController();
  const release = cli.onInterrupt(() => interrupted.abort());
  try {
    for (const template of chosen) {
      const options = { standardImage: cli.config().LONGSHORE_SANDBOX_IMAGE, log: (line: string) => printFact(cli, line), force, signal: interrupted.signal };
      const outcome = await buildTemplate(template, options);
      printFact(cli, `${template.name}: ${said[outcome]}${outcome === 'nothing' ? '' : ` (${template.options.image})`}.`);
    }
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    cli.err.print('Interrupted; what was built so far is removed, except layers that the engine keeps for the next build.\n');
    cli.exitCode = EXIT.interrupted;
  } finally {
    release();
  }
}

interface Listed {
  name: string;
  /** `removed`: images of a template whose file no longer exists. */
  state: 'built' | 'stale' | 'missing' | 'standard' | 'removed';
  image?: string;
  /** Size of all its images, in bytes. */
  size: number;
  pool: number;
  containers: number;
  agents: string[];
}

export async function listTemplates(cli: Cli, json: boolean): Promise<void> {
  const { templates } = await load(cli);
  const { LONGSHORE_AGENTS, LONGSHORE_TEMPLATES } = cli.config();
  const agents = [...(await loadAgents(LONGSHORE_AGENTS, LONGSHORE_TEMPLATES)).values()];
  const images = await templateImages();
  const names = [...new Set([...templates.keys(), ...images.map(({ template }) => template)])];
  const rows: Listed[] = [];
  for (const name of names) {
    const own = images.filter(({ template }) => template === name);
    const image = templates.get(name)?.options.image;
    const counted = await Promise.all([...new Set([...own.map((found) => found.image), ...(image === undefined ? [] : [image])])].map(containersFrom));
    rows.push({
      name,
      state: stateOf(
        templates.get(name),
        own.map((found) => found.image),
      ),
      ...(image !== undefined && { image }),
      size: own.reduce((sum, { size }) => sum + size, 0),
      pool: templates.get(name)?.pool ?? 0,
      containers: new Set(counted.flat()).size,
      agents: agents.filter(({ sandbox }) => sandbox.template === name).map(({ id }) => id),
    });
  }
  if (json) return printJson(cli, rows);
  if (rows.length === 0) return printLine(cli, 'No templates.');
  const lines = rows.map(({ name, state, size, pool, containers, agents: users }) => [
    name,
    state,
    size === 0 ? '-' : `${Math.round(size / 1e6)} MB`,
    String(pool),
    String(containers),
    users.join(', ') || '-',
  ]);
  return printTable(cli, ['TEMPLATE', 'STATE', 'SIZE', 'POOL', 'CONTAINERS', 'AGENTS'], lines);
}

function stateOf(template: Template | undefined, images: string[]): Listed['state'] {
  if (!template) return 'removed';
  if (!template.build) return 'standard';
  if (images.includes(template.options.image ?? '')) return 'built';
  return images.length > 0 ? 'stale' : 'missing';
}

export async function removeImages(cli: Cli, name: string, force: boolean): Promise<void> {
  const { directory, templates } = await load(cli);
  const removed = await removeTemplate(name, { force });
  if (removed.length === 0) findTemplate(templates, name, directory);
  printFact(cli, removed.length === 0 ? `${name}: has no image here.` : `${name}: removed ${removed.join(', ')}.`);
}

async function load(cli: Cli): Promise<{ directory: string; templates: Map<string, Template> }> {
  const { LONGSHORE_AGENTS, LONGSHORE_TEMPLATES: directory = templatesBeside(LONGSHORE_AGENTS) } = cli.config();
  return { directory, templates: await loadTemplates(directory) };
}
