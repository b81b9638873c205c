import { failure } from '../contracts/errors.ts';
import { mustRun } from '../platform/run-command.ts';
import { containersFrom, templateImages } from './template-images.ts';

/**
 * Removes a template's images, older ones too; returns their names. Its file stays.
 * @throws TEMPLATE_IN_USE while containers were made from one, unless forced: they run on then, but what needs the image again cannot start.
 */
export async function removeTemplate(template: string, { force }: { force: boolean }): Promise<string[]> {
  const images = (await templateImages(template)).map(({ image }) => image);
  const users = new Set<string>();
  for (const image of images) for (const name of await containersFrom(image)) users.add(name);
  if (users.size > 0 && !force) throw failure('TEMPLATE_IN_USE', { template, users: [...users].join(', ') });
  for (const image of images) {
    await mustRun(`Removing ${image}`, 'docker', ['image', 'rm', '--force', image], { fix: 'Remove the cause and try again' });
  }
  return images;
}
