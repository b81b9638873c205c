import type { Command } from 'commander';

interface Json {
  json?: boolean;
}

/** What `ls` and `show` of a group of commands say and do. */
interface Views {
  ls: { description: string; run: (json: boolean) => Promise<void> };
  show: { description: string; id?: string; run: (id: string, json: boolean) => Promise<void> };
}

/** Adds `ls` and `show <id>`, both with `--json`. */
export function addViews(command: Command, { ls, show }: Views): void {
  command
    .command('ls')
    .description(ls.description)
    .option('--json', 'as JSON')
    .action(({ json = false }: Json) => ls.run(json));
  command
    .command('show')
    .description(show.description)
    .argument('<id>', show.id)
    .option('--json', 'as JSON')
    .action((id: string, { json = false }: Json) => show.run(id, json));
}
