import { resolve } from 'node:path';
import { Command } from 'commander';
import { isFailure } from '../../contracts/errors.ts';
import type { Skill } from '../../contracts/skills/skill.ts';
import { EXIT, printFact, printJson, type Cli } from '../output/cli.ts';

export function skillsCommand(cli: Cli): Command {
  const command = new Command('skills').description('Check skills');
  command
    .command('check')
    .description('Read skills as a worker does, and show what they are, or what is wrong with them')
    .argument('<directory...>', 'directories with a SKILL.md')
    .option('--json', 'as JSON')
    .action(async (directories: string[], { json = false }: { json?: boolean }) => {
      const { readSkill } = await import('../../definitions/skills/read-skill.ts');
      const checked = await Promise.all(directories.map((directory) => checkOne(resolve(directory), readSkill)));
      if (checked.some((found) => 'problem' in found)) cli.exitCode = EXIT.failed;
      if (json) return printJson(cli, checked);
      for (const found of checked) for (const line of 'problem' in found ? [`problem: ${found.problem}`] : linesOf(found)) printFact(cli, line);
    });
  return command;
}

type Shown = Omit<Skill, 'contents' | 'body'> & { directory: string; bodyBytes: number };

async function checkOne(directory: string, read: (directory: string) => Promise<Skill>): Promise<Shown | { directory: string; problem: string }> {
  try {
    const { contents: _, body, ...skill } = await read(directory);
    return { directory, ...skill, bodyBytes: Buffer.byteLength(body) };
  } catch (error) {
    if (!isFailure(error)) throw error;
    return { directory, problem: error.message };
  }
}

function linesOf({ name, description, digest, bodyBytes, files, license, compatibility, metadata, allowedTools }: Shown): string[] {
  return [
    `${name}: ${description}`,
    `digest: ${digest}`,
    `text: ${bodyBytes} bytes`,
    ...(license === undefined ? [] : [`license: ${license}`]),
    ...(compatibility === undefined ? [] : [`compatibility: ${compatibility}`]),
    ...Object.entries(metadata ?? {}).map(([key, value]) => `metadata: ${key}: ${value}`),
    ...(allowedTools === undefined ? [] : [`allowed-tools: ${allowedTools} (without effect: the rules of the agent decide)`]),
    ...files.map(({ path, bytes, executable }) => `file: ${path}, ${bytes} bytes${executable ? ', a program' : ''}`),
  ];
}
