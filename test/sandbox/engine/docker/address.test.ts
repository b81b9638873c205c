import { address } from '../../../../src/sandbox/engine/docker/engine.ts';

test.each([
  ['engine', 'DOCKER_HOST: "engine" is no address. Use unix:///path or tcp://host:port'],
  ['/var/run/docker.sock', 'DOCKER_HOST: "/var/run/docker.sock" is no address. Use unix:///path or tcp://host:port'],
  ['ssh://engine', 'DOCKER_HOST: "ssh://engine" has the scheme ssh:. Use unix:///path or tcp://host:port'],
])('the address %s of an engine is refused with what to write', (host, message) => {
  expect(() => address(host)).toThrow(message);
});
