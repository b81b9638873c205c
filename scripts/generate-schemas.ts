import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { agentJsonSchema } from '../src/definitions/agents/agent-schema.ts';
import { PROTOCOL } from '../src/sandbox/protocol/protocol.ts';
import { templateJsonSchema } from '../src/definitions/templates/template-schema.ts';
import { errorTable } from './derived/error-table.ts';
import { httpDocument } from './derived/http-document.ts';
import { httpReference } from './derived/http-reference.ts';

/** Writes what is derived from the sources: the JSON Schemas of agents and templates, the protocol as the supervisor reads it, the table of docs/errors.md, and the reference of the HTTP API. Tests say when it has to be run. */
const schema = new URL('../schemas/agent.schema.json', import.meta.url);
const templates = new URL('../schemas/template.schema.json', import.meta.url);
const protocol = new URL('../src/sandbox/supervisor/protocol.json', import.meta.url);
const reference = new URL('../docs/reference/http-api.md', import.meta.url);
const errors = new URL('../docs/errors.md', import.meta.url);

await mkdir(new URL('.', schema), { recursive: true });
await writeFormatted(schema, JSON.stringify(agentJsonSchema()), 'json');
await writeFormatted(templates, JSON.stringify(templateJsonSchema()), 'json');
await writeFormatted(protocol, JSON.stringify(PROTOCOL), 'json');

const [intro = ''] = (await readFile(errors, 'utf8')).split(/^\|/m);
await writeFormatted(errors, `${intro}${errorTable().join('\n')}\n`, 'markdown');

await mkdir(new URL('.', reference), { recursive: true });
await writeFile(reference, httpReference(await httpDocument()));

async function writeFormatted(file: URL, text: string, parser: 'json' | 'markdown'): Promise<void> {
  const options = await resolveConfig(file);
  await writeFile(file, await format(text, { ...options, parser }));
}
