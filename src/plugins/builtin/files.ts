import { definePlugin } from '../api/define-plugin.ts';
import { editFile } from './files-edit.ts';
import { listFiles } from './files-list.ts';
import { readFile } from './files-read.ts';
import { searchFiles } from './files-search.ts';
import { writeFile } from './files-write.ts';

export const filesPlugin = definePlugin({
  id: 'files',
  version: '1',
  description: 'Files of the sandbox',
  tools: [readFile, writeFile, editFile, listFiles, searchFiles],
});
