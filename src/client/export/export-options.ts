import { z } from 'zod';
import { readOptions } from '../../common/arguments.ts';
import type { ExportOptions } from './export-types.ts';

const options = z.strictObject({ files: z.boolean({ error: 'give true or false' }).optional() });

export const exportOptions = (given: unknown) => readOptions('options of export', options, given) as ExportOptions;
