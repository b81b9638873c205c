import { z } from 'zod';
import { readYaml } from '../../common/yaml-document.ts';
import { failure } from '../../contracts/errors.ts';
import { nearest } from '../../common/nearest.ts';
import { cutMiddle, unstorable, visibleJson } from '../../contracts/visible-text.ts';

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const NAME_IN_WORDS = 'has to be lower-case letters, digits and single hyphens between them, 64 at most';

const text = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .refine((given) => given.trim() !== '' && unstorable(given) === undefined, 'has to be a text');

const header = z.strictObject({
  name: z.string().max(64, NAME_IN_WORDS).regex(NAME, NAME_IN_WORDS),
  description: text(1_024),
  license: text(500).optional(),
  compatibility: text(500).optional(),
  metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String)).optional(),
  'allowed-tools': text(2_000).optional(),
});

export type SkillHeader = z.output<typeof header>;

/**
 * Reads the text of a `SKILL.md`: a header in YAML between two lines of `---`, and what follows it.
 * @throws SKILL_INVALID naming file, field, problem and fix
 */
export function readSkillText(content: string, file: string): { header: SkillHeader; body: string } {
  const [, yaml, body = ''] = /^---[ \t]*\r?\n([^]*?\r?\n)?---[ \t]*(?:\r?\n([^]*))?$/.exec(content) ?? [];
  if (yaml === undefined) {
    throw invalid(file, '(the header)', 'there is none', 'Begin the file with a line ---, then name: and description:, then a line ---');
  }
  const read = readYaml(yaml);
  if (!('value' in read)) throw invalid(file, '(the header)', `is not YAML (${'syntax' in read ? read.syntax : read.aliases})`, 'Correct it');
  const parsed = header.safeParse(read.value);
  if (parsed.success) return { header: parsed.data, body: body.trim() };
  throw unusable(file, read.value, parsed.error);
}

function unusable(file: string, written: unknown, { issues: [issue] }: z.ZodError): Error {
  const known = Object.keys(header.shape);
  if (issue?.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? '';
    const guess = nearest(key, known);
    return invalid(file, key, 'this key is not known', `${guess === undefined ? '' : `Did you mean "${guess}"? `}Known: ${known.join(', ')}`);
  }
  const [field] = issue?.path ?? [];
  if (field === undefined) return invalid(file, '(the header)', `${cutMiddle(visibleJson(written), 100)} is not usable`, 'Write name: and description:');
  const value = (written as Record<PropertyKey, unknown>)[field];
  const problem = value === undefined ? 'is missing' : `${cutMiddle(visibleJson(value), 100)} is not usable`;
  return invalid(file, String(field), problem, `"${String(field)}": ${issue?.message ?? 'is not usable'}`);
}

export function invalid(file: string, field: string, problem: string, fix: string, cause?: unknown): Error {
  return failure('SKILL_INVALID', { file, field, problem, fix }, cause);
}
