import { PROTOCOL } from '../protocol/protocol.ts';
import type { SandboxFiles } from '../api/files.ts';
import { content } from './content.ts';
import { isNot, options, value, type Parameters } from './parse.ts';
import { bytes, callback, flag, isWellFormed, list, localPath, mode, notWellFormed, path, pattern, text, whole } from './values.ts';

const { max: maxEntries } = PROTOCOL.operations.listFiles.request.maxEntries;

const MAX_FILES = 10_000;
const encoding = text({ kind: 'an encoding', maxLength: 40 });
/** A text of a file. It may contain NUL. */
const fileText = value<string>((given) => {
  if (typeof given !== 'string') return isNot(given, 'a text');
  return isWellFormed(given) ? undefined : notWellFormed(given);
});
const entries = whole({ min: 0, max: maxEntries, unit: 'entries' });
const progress = { onBytes: callback.optional() };

const writeShape = { mode: mode.optional(), encoding: encoding.optional(), createDirectories: flag.optional() };
const fileToWrite = options({ path, data: content, ...writeShape });

export const FILES: Record<keyof SandboxFiles, Parameters> = {
  readFile: { path, options: options({ encoding: encoding.optional(), maxBytes: bytes.optional() }).optional() },
  readFileStream: { path, options: options({ offset: bytes.optional(), maxBytes: bytes.optional() }).optional() },
  writeFile: {
    path,
    data: content,
    options: options(writeShape).optional(),
  },
  writeFiles: { files: list({ item: fileToWrite, kind: 'files', maxItems: MAX_FILES }) },
  editFile: { path, edit: options({ oldText: fileText, newText: fileText }) },
  listFiles: { path, options: options({ recursive: flag.optional(), pattern: pattern.optional(), maxEntries: entries.optional() }).optional() },
  glob: { pattern, options: options({ cwd: path.optional(), hidden: flag.optional(), maxEntries: entries.optional() }).optional() },
  fileExists: { path },
  fileInfo: { path },
  removeFile: { path, options: options({ recursive: flag.optional() }).optional() },
  createDirectory: { path, options: options({ parents: flag.optional() }).optional() },
  rename: { from: path, to: path },
  uploadFile: { localPath, path, options: options({ ...progress, mode: mode.optional() }).optional() },
  downloadFile: { path, localPath, options: options(progress).optional() },
  uploadDirectory: { localPath, path, options: options(progress).optional() },
  downloadDirectory: { path, localPath, options: options({ ...progress, maxBytes: bytes.optional() }).optional() },
  watch: { path, options: options({ recursive: flag.optional() }).optional() },
};
