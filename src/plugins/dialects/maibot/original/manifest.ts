import { z } from 'zod';
import { parseForeign } from '../../../../contracts/foreign-json.ts';
import { pluginInvalid } from '../../../api/plugin-invalid.ts';
import { readText, usableId } from '../../shared/python/plugin-text.ts';
import { requirementsOf, withBrought } from '../../shared/python/requirements.ts';
import { importedOf } from '../../shared/python/sources.ts';

export const MANIFEST = '_manifest.json';
export const ENTRY = 'plugin.py';

/** What the manifest of a MaiBot plugin says. */
export interface Manifest {
  id: string;
  version: string;
  description: string;
  /** Packages of PyPI, the SDK among them. */
  requirements: string[];
  /** Ids of other plugins that it wants. */
  plugins: string[];
}

const text = z.string().trim().min(1);

const manifestSchema = z.looseObject({
  manifest_version: z.union([z.literal(1), z.literal(2)]),
  id: text.optional(),
  name: text,
  version: text.regex(/^[\w.+-]{1,50}$/, 'is no version'),
  description: z.string().default(''),
  sdk: z.looseObject({ min_version: text.optional(), max_version: text.optional() }).default({}),
  dependencies: z
    .array(
      z.discriminatedUnion('type', [
        z.looseObject({ type: z.literal('python_package'), name: text, version_spec: z.string().default('') }),
        z.looseObject({ type: z.literal('plugin'), id: text }),
      ]),
    )
    .default([]),
});

/** Packages that MaiBot itself brings, so that many plugins use them without naming them, by the modules that plugins import. Each sandbox gets a copy of what a plugin has. */
const BROUGHT: Record<string, string> = {
  aiofiles: 'aiofiles',
  aiohttp: 'aiohttp',
  bs4: 'beautifulsoup4',
  colorama: 'colorama',
  httpx: 'httpx',
  jieba: 'jieba',
  json_repair: 'json-repair',
  maim_message: 'maim-message',
  numpy: 'numpy',
  openai: 'openai>=1.95',
  pandas: 'pandas',
  PIL: 'pillow',
  pypinyin: 'pypinyin',
  rapidfuzz: 'rapidfuzz',
  requests: 'requests',
  rich: 'rich',
  sqlalchemy: 'sqlalchemy>=2',
  sqlmodel: 'sqlmodel',
  structlog: 'structlog',
  tomlkit: 'tomlkit',
  yaml: 'pyyaml',
};

/** @throws PLUGIN_INVALID for a manifest that is not usable, and for requirements that are not */
export async function readManifest(name: string, root: string): Promise<Manifest> {
  const parsed = manifestSchema.safeParse(parse(name, await readText(name, root, MANIFEST)));
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`).join('; ');
    throw pluginInvalid(name, `its ${MANIFEST} is not usable (${problems})`, 'Correct that file');
  }
  const { id, name: title, version, description, sdk, dependencies } = parsed.data;
  const packages = dependencies.flatMap((wanted) => (wanted.type === 'python_package' ? [`${wanted.name}${wanted.version_spec}`] : []));
  const listed = await readText(name, root, 'requirements.txt', '');
  const range = [sdk.min_version && `>=${sdk.min_version}`, sdk.max_version && `<=${sdk.max_version}`].filter((bound) => bound).join(',');
  return {
    id: usableId(id ?? title, 'maibot'),
    version,
    description,
    requirements: withBrought(requirementsOf(name, [`maibot-plugin-sdk${range}`, ...packages], listed), await importedOf(root, BROUGHT)),
    plugins: dependencies.flatMap((wanted) => (wanted.type === 'plugin' ? [wanted.id] : [])),
  };
}

function parse(name: string, content: string): unknown {
  try {
    return parseForeign(content.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw pluginInvalid(name, `its ${MANIFEST} cannot be read as JSON (${(error as Error).message})`, 'Correct that file', error);
  }
}
