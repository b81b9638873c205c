import { Command } from 'commander';
import type { Cli } from '../output/cli.ts';

export function templateCommand(cli: Cli): Command {
  const command = new Command('template').description('Build, list and remove the images of sandbox templates');
  command
    .command('build')
    .description('Build the images of templates that have none yet; without a name, of all templates')
    .argument('[names...]')
    .option('--force', 'build again even if the image exists')
    .action(async (names: string[], { force = false }: { force?: boolean }) => {
      const { buildTemplates } = await import('./template.ts');
      await buildTemplates(cli, names, force);
    });
  command
    .command('ls')
    .description('List templates with their images')
    .option('--json', 'as JSON')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { listTemplates } = await import('./template.ts');
      await listTemplates(cli, json);
    });
  command
    .command('rm')
    .description('Remove the images of a template; its file stays')
    .argument('<name>')
    .option('--force', 'even while sandboxes use them')
    .action(async (name: string, { force = false }: { force?: boolean }) => {
      const { removeImages } = await import('./template.ts');
      await removeImages(cli, name, force);
    });
  return command;
}
