import { requirementsOf } from '../../../../src/plugins/dialects/shared/python/requirements.ts';

describe('requirements', () => {
  test.each(['httpx', 'httpx[http2, socks] >= 0.27, != 0.28', 'ruamel.yaml~=0.18', "tomli>=2; python_version < '3.11'"])('%s is accepted', (line) => {
    expect(requirementsOf('p', [], line)).toEqual([line]);
  });

  test.each([
    '-r ../../secrets.txt',
    '--index-url https://index.example',
    '-e .',
    './wheels/a.whl',
    '/srv/a.whl',
    'a @ https://files.example/a.tar.gz',
    'git+https://git.example/a',
    'https://files.example/a.whl',
    'a --no-binary :all:',
    'a\\',
    '$(id)',
  ])('%s is refused by name', (line) => {
    expect(() => requirementsOf('p', [], line)).toThrow(
      `Plugin "p": its requirement ${JSON.stringify(line)} is not supported: only names of packages with versions are, such as "httpx>=0.27". Change it in its manifest or requirements.txt`,
    );
  });
});
