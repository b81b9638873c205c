import { createSlots } from '../../src/common/slots.ts';

const never = new AbortController().signal;

test('slots are given in the order of the requests, and one that is not waited for any more to the next', async () => {
  const slots = createSlots(2);
  const taken: string[] = [];
  const take = async (name: string, signal = never) => {
    const giveBack = await slots.take(signal);
    taken.push(name);
    return giveBack;
  };
  const [first, second] = await Promise.all([take('a'), take('b')]);
  const gone = new AbortController();
  const [third, fourth, fifth] = [take('c'), take('d', gone.signal), take('e')];
  gone.abort(new Error('gone'));
  await expect(fourth).rejects.toThrow('gone');
  expect(taken).toEqual(['a', 'b']);
  first();
  (await third)();
  await fifth;
  expect(taken).toEqual(['a', 'b', 'c', 'e']);
  second();
  await take('f');
  await expect(slots.take(AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
});
