import { createMaiBotContext } from '../../../../src/plugins/dialects/maibot/maibot-context.ts';
import { contextOf } from '../../isolates/support.ts';

test('what is sent is answered with true, as plugins of the original expect', async () => {
  const call = contextOf('conv-1');
  const { send } = createMaiBotContext({ host: undefined, config: {}, current: () => call });
  expect(await Promise.all([send.text('a', 'conv-1'), send.image('eA=='), send.file({ name: 'n', data: 'eA==' })])).toEqual([true, true, true]);
  expect(call.told).toHaveLength(3);
});
