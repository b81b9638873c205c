import { z } from 'zod';
import type { Completion } from '../../protocols/openai/chunks.ts';
import { valuesOf } from '../schemas.ts';

export const completion = valuesOf<Completion>(
  z
    .looseObject({ id: z.string(), object: z.literal('chat.completion'), model: z.string(), choices: z.array(z.looseObject({ finish_reason: z.string() })) })
    .meta({ id: 'ChatCompletion' }),
);
