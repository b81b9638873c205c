import { presentOf } from '../../../../src/sandbox/lifecycle/room/facts-of.ts';

const contextWith = (...images: string[]) => ({
  engine: { imageId: async (image: string) => (images.includes(image) ? `sha256:${image}` : undefined) },
  standardImage: 'standard:1',
});

test('a host says which of the images that agents name it has, and whether it has the standard one, by whatever name', async () => {
  expect(await presentOf(contextWith('standard:1', 'one:1'), ['one:1', 'two:1'])).toEqual({ images: ['one:1'], standardImage: true });
  expect(await presentOf(contextWith('one:1'), [])).toEqual({ standardImage: false });
});
