import { readAddresses } from '../../src/network/read-addresses.ts';

test('addresses and ranges are read, parted by commas or blanks; none is none', () => {
  expect(readAddresses('NAME', '10.1.2.3, 10.2.0.0/16,::1')).toEqual(['10.1.2.3', '10.2.0.0/16', '::1']);
  expect([readAddresses('NAME'), readAddresses('NAME', ' ')]).toEqual([[], []]);
});

test('what is no address is told with the name of the setting', () => {
  expect(() => readAddresses('LONGSHORE_PLUGIN_ADDRESSES', 'localhost')).toThrow(
    'LONGSHORE_PLUGIN_ADDRESSES: "localhost" is not usable. Give addresses and ranges such as 10.1.2.3, 10.2.0.0/16',
  );
});
