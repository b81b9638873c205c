import { Command } from 'commander';
import { EXIT, printFact, printJson, type Cli } from '../output/cli.ts';

const MARKS = { ok: 'ok     ', warning: 'warning', missing: 'MISSING' };

export function doctorCommand(cli: Cli): Command {
  return new Command('doctor')
    .description('Check what Longshore needs on this machine; says what is missing and what to do')
    .option('--json', 'as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const { runDoctor } = await import('./doctor.ts');
      const lines = await runDoctor(cli.config());
      if (json) printJson(cli, lines);
      else
        for (const { name, ok, found, todo } of lines) {
          printFact(cli, `${MARKS[ok]}  ${name}: ${found}`);
          if (todo !== undefined) printFact(cli, `         ${todo}`);
        }
      if (lines.some((line) => line.ok === 'missing')) cli.exitCode = EXIT.serviceAway;
    });
}
