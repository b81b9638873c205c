import { createPromptAnswers } from '../../../src/plugins/isolates/prompt-answers.ts';

/** A clock that goes on by what a test says, and an event loop of which the test does the rounds. */
function openLoop() {
  let at = 0;
  let next: (() => void)[] = [];
  const answers = createPromptAnswers(
    () => at,
    (look) => void next.push(look),
  );
  const passes = (ms: number) => void (at += ms);
  return {
    answers,
    passes,
    /** Whether it goes round rather than to sleep. */
    isLooking: () => next.length > 0,
    round() {
      const looks = next;
      next = [];
      for (const look of looks) look();
    },
    ask(ms: number, times = 1) {
      for (let time = 0; time < times; time += 1) {
        answers.asked();
        passes(ms);
        answers.answered();
      }
    },
  };
}

test('answers are looked for once they have been prompt, for a tenth of a millisecond at most', () => {
  const loop = openLoop();
  loop.ask(0.1, 3);
  loop.answers.asked();
  expect(loop.isLooking()).toBe(false);
  loop.answers.answered();
  loop.answers.asked();
  for (let round = 0; round < 9; round += 1) {
    expect(loop.isLooking()).toBe(true);
    loop.passes(0.01);
    loop.round();
  }
  loop.passes(0.02);
  loop.round();
  expect(loop.isLooking()).toBe(false);
});

test('an answer ends the look, and between calls nothing is looked for', () => {
  const loop = openLoop();
  loop.ask(0.05, 4);
  loop.ask(0.05);
  expect(loop.isLooking()).toBe(true);
  loop.round();
  expect(loop.isLooking()).toBe(false);
});

test('after a poll without an answer, and after a slow answer, it takes four prompt ones again', () => {
  const loop = openLoop();
  const looksAtOnce = () => {
    loop.answers.asked();
    const looks = loop.isLooking();
    loop.answers.answered();
    loop.round();
    return looks;
  };
  loop.ask(0.05, 4);
  loop.answers.asked();
  loop.passes(0.15);
  loop.round();
  loop.answers.answered();
  expect([looksAtOnce(), looksAtOnce(), looksAtOnce(), looksAtOnce()]).toEqual([false, false, false, true]);
  loop.ask(30);
  loop.round();
  expect([looksAtOnce(), looksAtOnce(), looksAtOnce(), looksAtOnce(), looksAtOnce()]).toEqual([false, false, false, false, true]);
});
