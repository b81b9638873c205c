import Docker from 'dockerode';
import { address } from './engine.ts';
import { engineStatus } from './errors.ts';

const TIMEOUT_MS = 20_000;

const connect = (host: string | undefined) => new Docker({ ...address(host), timeout: TIMEOUT_MS });

/** What an engine says of itself, in its own words. @param host as in `DOCKER_HOST` */
export async function engineInfo(host: string | undefined): Promise<object> {
  return (await connect(host).info()) as object;
}

/** The labels of an image; undefined where the engine does not have it. @param host as in `DOCKER_HOST` */
export async function imageLabels(host: string | undefined, image: string): Promise<Record<string, string> | undefined> {
  try {
    const found = (await connect(host).getImage(image).inspect()) as { Config: { Labels: Record<string, string> | null } };
    return found.Config.Labels ?? {};
  } catch (error) {
    if (engineStatus(error) === 404) return undefined;
    throw error;
  }
}
