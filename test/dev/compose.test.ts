import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';

interface Service {
  image: string;
  build?: unknown;
  restart?: string;
  environment?: Record<string, string>;
  healthcheck?: unknown;
}

describe('docker-compose.yml', () => {
  let text: string;
  let services: Record<string, Service>;
  beforeAll(async () => {
    text = await readFile('docker-compose.yml', 'utf8');
    ({ services } = parse(text, { merge: true }) as { services: Record<string, Service> });
  });

  test('every image from elsewhere has a pinned version', () => {
    const foreign = Object.values(services).filter((service) => service.build === undefined);
    expect(foreign.length).toBeGreaterThan(0);
    for (const { image } of foreign) expect(image).toMatch(/:\d+\.\d+/);
  });

  test('it holds no secret: the password comes from the environment or nothing starts', () => {
    for (const { environment = {} } of Object.values(services)) {
      for (const [name, value] of Object.entries(environment)) {
        if (/PASSWORD|PWD|DATABASE_URL/.test(name)) expect(value).toContain('${POSTGRES_PASSWORD:?');
      }
    }
  });

  test('every server that others wait for has a health check', () => {
    for (const name of ['postgres', 'temporal', 'temporal-ui']) expect(services[name]).toHaveProperty('healthcheck');
  });
});
