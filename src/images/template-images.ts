import { mustRun, runCommand } from '../platform/run-command.ts';
import { TEMPLATE_IMAGES } from '../definitions/templates/template-image.ts';
import { IMAGE_LABEL } from './image-definition.ts';

export interface TemplateImage {
  image: string;
  template: string;
  /** Bytes. */
  size: number;
}

/** The images on this engine of one template, or of all templates. */
export async function templateImages(template?: string): Promise<TemplateImage[]> {
  const label = template === undefined ? IMAGE_LABEL.template : `${IMAGE_LABEL.template}=${template}`;
  const args = ['image', 'ls', '--filter', `label=${IMAGE_LABEL.kind}=template`, '--filter', `label=${label}`, '--format', '{{.Repository}}:{{.Tag}}'];
  const listed = await mustRun('Listing images', 'docker', args, { fix: 'Is the engine running? See: longshore doctor' });
  const names = listed.split('\n').filter((name) => name.startsWith(TEMPLATE_IMAGES) && !name.includes('<none>'));
  if (names.length === 0) return [];
  const format = `{{json .RepoTags}}\t{{.Size}}\t{{index .Config.Labels "${IMAGE_LABEL.template}"}}`;
  // An image may be removed in between. The command then fails, but still prints the others.
  const { stdout } = await runCommand('docker', ['image', 'inspect', '--format', format, ...new Set(names)]);
  const lines = stdout.split('\n').filter((line) => line !== '');
  const images = lines.flatMap((line) => {
    const [tags = '[]', size = '0', name = ''] = line.split('\t');
    // An image may have several names, and is then there for each of them.
    return (JSON.parse(tags) as string[]).map((image): [string, TemplateImage] => [image, { image, size: Number(size), template: name }]);
  });
  return [...new Map(images.filter(([image]) => names.includes(image))).values()];
}

/** Names of all containers that were made from an image, running or not. */
export async function containersFrom(image: string): Promise<string[]> {
  const args = ['ps', '--all', '--filter', `ancestor=${image}`, '--format', '{{.Names}}'];
  const listed = await mustRun(`Listing the containers of ${image}`, 'docker', args, { fix: 'Is the engine running? See: longshore doctor' });
  return listed.split('\n').filter((name) => name !== '');
}
