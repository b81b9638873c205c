/** The same over pipes: the least that a call of another process can be. */
process.stdin.on('data', (chunk) => {
  const { id, input } = JSON.parse(chunk);
  process.stdout.write(JSON.stringify({ id, sum: input.a + input.text.length }));
});
