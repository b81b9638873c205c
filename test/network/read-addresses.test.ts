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

test.each(['10', '10/8', '127.1', '010.1.2.3', '0x7f.1/8', '2130706433', '10.0.0.0/', '10.0.0.0/33', 'fe80::1%lo', 'fe80::%lo/64', '10.0.0.0/8/8'])(
  '"%s", which could be read as another address than is meant, is refused',
  (text) => {
    expect(() => readAddresses('LONGSHORE_EGRESS_ADDRESSES', `10.1.2.3, ${text}`)).toThrow(
      'is not usable. Give addresses and ranges such as 10.1.2.3, 10.2.0.0/16',
    );
  },
);

test('addresses of IPv6 and their ranges are read', () => {
  expect(readAddresses('NAME', 'fd00::1 fd12:3456::/32')).toEqual(['fd00::1', 'fd12:3456::/32']);
});
