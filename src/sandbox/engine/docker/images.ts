import type Docker from 'dockerode';
import { engineStatus, mapped } from './errors.ts';
import { LABEL } from '../labels.ts';

export async function imageId(docker: Docker, image: string): Promise<string | undefined> {
  return mapped(`inspect image ${image}`, async () => {
    try {
      return (await docker.getImage(image).inspect()).Id;
    } catch (error) {
      if (engineStatus(error) === 404) return undefined;
      throw error;
    }
  });
}

export async function newestTemplateImage(docker: Docker, template: string): Promise<string | undefined> {
  return mapped('list images', async () => {
    const found = await docker.listImages({ filters: { label: [`${LABEL.template}=${template}`] } });
    return found.toSorted((a, b) => b.Created - a.Created).flatMap(({ RepoTags }) => RepoTags ?? [])[0];
  });
}
