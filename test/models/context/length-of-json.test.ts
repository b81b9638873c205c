import { array, assert, boolean, dictionary, jsonValue, property, string } from 'fast-check';
import { frozen } from '../../../src/contracts/json.ts';
import { createArrayMeasure } from '../../../src/models/context/length-of-json.ts';

test('an array is as long as its JSON, also when its items were measured before', () => {
  const measure = createArrayMeasure((json) => Buffer.byteLength(json));
  const items = array(dictionary(string(), jsonValue()), { maxLength: 6 });
  const isMeasured = property(items, boolean(), (given, isFrozen) => {
    const all = isFrozen ? given.map(frozen) : given;
    for (const part of [all.slice(0, 2), all, all]) expect(measure(part)).toBe(Buffer.byteLength(JSON.stringify(part)));
  });
  assert(isMeasured);
});

test('an item that can still change is measured each time, and one that cannot is measured once', () => {
  let measured = 0;
  const measure = createArrayMeasure((json) => ((measured += 1), json.length));
  const item = { text: 'a' };
  expect(measure([item])).toBe('[{"text":"a"}]'.length);
  item.text = 'longer';
  expect(measure([frozen(item)])).toBe('[{"text":"longer"}]'.length);
  expect(measure([item, item])).toBe('[{"text":"longer"},{"text":"longer"}]'.length);
  expect(measured).toBe(2);
});
