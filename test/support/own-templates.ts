import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { templateImages } from '../../src/images/template-images.ts';
import { runCommand } from '../../src/platform/run-command.ts';

/** The templates of the programs that are started from now on, by name, as YAML. They are disposed of with their images on the engine of the environment. */
export async function ownTemplates(contents: Record<string, string>): Promise<AsyncDisposable> {
  const directory = await mkdtemp(join(tmpdir(), 'longshore-templates-'));
  for (const [name, content] of Object.entries(contents)) await writeFile(join(directory, `${name}.yaml`), content);
  process.env['LONGSHORE_TEMPLATES'] = directory;
  return {
    async [Symbol.asyncDispose]() {
      delete process.env['LONGSHORE_TEMPLATES'];
      await rm(directory, { recursive: true });
      for (const name of Object.keys(contents)) {
        for (const { image } of await templateImages(name)) await runCommand('docker', ['image', 'rm', image]);
      }
    },
  };
}
