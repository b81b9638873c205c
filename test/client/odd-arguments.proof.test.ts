import { LARGE_VALUES, openClient, wrongAnswers } from './odd-calls.ts';

let client: Awaited<ReturnType<typeof openClient>>;
beforeAll(async () => {
  client = await openClient();
});
afterAll(async () => await client[Symbol.asyncDispose]());

test.each(LARGE_VALUES)(
  '%s is an argument, and a field, that every method takes or refuses with an error of the table',
  async (_, make) => {
    expect(await wrongAnswers(client.longshore, make)).toEqual([]);
  },
  600_000,
);
