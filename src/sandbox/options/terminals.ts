import type { z } from 'zod';
import type { Pty, PtyFollow, PtyOptions, SandboxTerminals } from '../api/terminals.ts';
import { command, placeShape } from './commands.ts';
import { piece } from './content.ts';
import { options, parseArgument, type Parameters } from './parse.ts';
import { bytes, callback, execId, whole } from './values.ts';

const MAX_SIZE = 1000;
const size = whole({ min: 1, max: MAX_SIZE });

export const TERMINALS: Record<keyof SandboxTerminals, Parameters> = {
  openPty: {
    options: options({
      ...placeShape,
      ptyId: execId.optional(),
      command: command.optional(),
      columns: size.optional(),
      rows: size.optional(),
      onData: callback,
    } satisfies Record<keyof (PtyOptions & PtyFollow), z.ZodType>),
  },
  attachPty: { ptyId: execId, options: options({ from: bytes.optional(), onData: callback }) },
};

const resizeTo = options({ columns: size, rows: size });

/** The same terminal; it parses the arguments of its methods. */
export function checkedPty(pty: Pty): Pty {
  return {
    ptyId: pty.ptyId,
    get offset() {
      return pty.offset;
    },
    ended: pty.ended,
    write: async (data) => pty.write(parseArgument(piece, data, 'write.data')),
    resize: async (to) => pty.resize(parseArgument(resizeTo, to, 'resize') as { columns: number; rows: number }),
    kill: () => pty.kill(),
    detach: () => pty.detach(),
  };
}
