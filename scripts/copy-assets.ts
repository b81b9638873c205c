/** Copies what the compiler leaves out: files of src that are neither TypeScript nor notes, such as the supervisor and the migrations. */
import { cp } from 'node:fs/promises';
import { extname } from 'node:path';

const LEFT_OUT = new Set(['.ts', '.md', '.pyc']);
await cp('src', 'dist', { recursive: true, filter: (source) => !LEFT_OUT.has(extname(source)) && !source.endsWith('__pycache__') });
