import { templatesBeside } from '../definitions/agents/load-agents.ts';
import type { Config } from '../platform/config.ts';
import type { Agent } from '../contracts/agent.ts';
import type { Logger } from '../platform/log.ts';
import type { WarmPool } from '../contracts/host-facts.ts';
import { hasLabels } from '../contracts/hosts/needs.ts';
import { buildTemplate } from './build-template.ts';
import { loadTemplates } from '../definitions/templates/load-templates.ts';

/**
 * Builds the missing images of the templates that agents name whose sandboxes this host may have, and returns the pools of those to keep warm. A template that cannot be built is logged: only
 * the agents that need it fail.
 */
export async function prepareTemplates(
  config: Pick<Config, 'LONGSHORE_AGENTS' | 'LONGSHORE_TEMPLATES' | 'LONGSHORE_SANDBOX_IMAGE' | 'LONGSHORE_SANDBOX_BACKEND' | 'LONGSHORE_HOST_LABELS'>,
  agents: ReadonlyMap<string, Agent>,
  log: Logger,
): Promise<WarmPool[]> {
  const { LONGSHORE_TEMPLATES: directory = templatesBeside(config.LONGSHORE_AGENTS), LONGSHORE_SANDBOX_IMAGE: standardImage } = config;
  // Other backends have no images.
  const builds = config.LONGSHORE_SANDBOX_BACKEND === 'docker';
  const here = [...agents.values()].filter(({ sandbox }) => hasLabels(config.LONGSHORE_HOST_LABELS, sandbox));
  const named = new Set(here.map(({ sandbox }) => sandbox.template));
  const pools: WarmPool[] = [];
  for (const template of (await loadTemplates(directory)).values()) {
    const { name, options, pool } = template;
    if (!named.has(name)) continue;
    // Also of one that cannot be built now: its pool is filled once the image has been built.
    if (pool > 0) pools.push({ name, options, size: pool });
    try {
      const outcome =
        template.build && builds ? await buildTemplate(template, { standardImage, log: (line) => log.info({ template: name }, line) }) : 'nothing';
      if (outcome === 'built') log.info({ template: name, image: options.image }, 'template built');
    } catch (error) {
      log.error({ template: name, err: error }, 'a template cannot be built');
    }
  }
  return pools;
}
