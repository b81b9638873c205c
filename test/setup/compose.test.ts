import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';

interface Service {
  image: string;
  build?: unknown;
  restart?: string;
  environment?: Record<string, string>;
  healthcheck?: unknown;
  read_only?: boolean;
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
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

  test('no service has capabilities or can gain rights, but Postgres to change to its own user', () => {
    for (const [name, service] of Object.entries(services)) {
      expect({ name, ...service }).toMatchObject({ name, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
    }
    const added = Object.entries(services).filter(([, service]) => service.cap_add !== undefined);
    expect(added.map(([name]) => name)).toEqual(['postgres']);
  });

  test('all but those of Temporal, whose entry points write their configuration, have a root that cannot be written', () => {
    const writable = Object.entries(services).filter(([, service]) => service.read_only !== true);
    expect(writable.map(([name]) => name)).toEqual(['temporal', 'temporal-ui']);
  });
});

describe('docker-compose.host.yml', () => {
  interface Added extends Service {
    volumes?: string[];
    network_mode?: string;
  }
  const servicesOf = async (file: string) => (parse(await readFile(file, 'utf8'), { merge: true }) as { services: Record<string, Added> }).services;

  test('it adds workers alone, as hardened as those of the first machine', async () => {
    const { worker, 'sandbox-image': image, ...others } = await servicesOf('docker-compose.host.yml');
    expect(others).toEqual({});
    const first = await servicesOf('docker-compose.yml');
    for (const [added, known] of [
      [worker, first['worker']],
      [image, first['sandbox-image']],
    ]) {
      const { read_only, cap_drop, security_opt, image: name, volumes } = known ?? {};
      expect(added).toMatchObject({ read_only, cap_drop, security_opt, image: name, ...(volumes && { volumes }) });
    }
  });

  test('it starts only with an address of each server, and with a name and an address of its own', async () => {
    const { environment = {} } = (await servicesOf('docker-compose.host.yml'))['worker'] ?? {};
    for (const name of ['TEMPORAL_ADDRESS', 'DATABASE_URL', 'LONGSHORE_HOST_ID', 'LONGSHORE_HOST_ADDRESS'])
      expect(environment[name]).toMatch(/^\$\{[A-Z_]+:\?/);
    expect(environment['LONGSHORE_MIGRATE']).toBe('no');
  });
});
