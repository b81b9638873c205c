import { z } from 'zod';
import type { CommandResult, ExecInfo, OutputPreview } from '../../sandbox/api/commands.ts';
import { conversationId, valuesOf } from '../routes/schemas.ts';

export const execParams = z.object({
  id: conversationId,
  execId: z.string().meta({ description: 'Id of the command, as its start answered', example: 'run_build-7' }),
});

export const command = valuesOf<ExecInfo>(
  z
    .looseObject({
      execId: z.string(),
      command: z.string(),
      state: z.enum(['running', 'ended', 'lost']).meta({ description: '`lost`: its container died while it ran' }),
      result: z.looseObject({ status: z.string(), exitCode: z.int().optional(), durationMs: z.number() }).optional(),
      stdoutBytes: z.number(),
      stderrBytes: z.number(),
      startedAt: z.string(),
    })
    .meta({ id: 'Command' }),
);

const preview = valuesOf<OutputPreview>(
  z
    .looseObject({ text: z.string(), totalBytes: z.number(), truncated: z.boolean(), path: z.string() })
    .meta({ id: 'OutputPreview', description: 'Head and tail of the output; `path` is the file in the sandbox that has all of it' }),
);

export const commandResult = valuesOf<CommandResult>(
  z
    .looseObject({
      execId: z.string(),
      status: z.enum(['exited', 'timeout', 'killed', 'concluded']),
      exitCode: z.int().optional().meta({ description: 'Absent when a signal ended it' }),
      signal: z.string().optional(),
      limit: z.enum(['memory', 'disk']).optional(),
      stdout: preview,
      stderr: preview,
      durationMs: z.number(),
    })
    .meta({ id: 'CommandResult' }),
);

export const newCommand = z.strictObject({
  command: z.string().meta({ description: 'A bash command', example: 'npm test' }),
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/, 'use up to 100 letters, digits, "_", "." and "-"')
    .optional()
    .meta({ description: 'A name of your own: a second start with it attaches to the first', example: 'build-7' }),
  cwd: z.string().optional().meta({ description: 'Default: the work directory of the sandbox, or /home/user' }),
  env: z.record(z.string(), z.string()).optional(),
  user: z.string().optional().meta({ description: 'A user that the template declares' }),
  timeoutMs: z.int().min(0).optional().meta({ description: 'Default 60000; 0: no limit' }),
  stdin: z.string().optional().meta({ description: 'Its whole input. Without it, and without `openStdin`, the input is empty' }),
  openStdin: z.boolean().optional().meta({ description: 'It reads what is sent to its `stdin`' }),
});
