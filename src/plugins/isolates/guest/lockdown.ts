// oxlint-disable-next-line import/no-unassigned-import -- it gives its names to the global object
import 'ses';

/*
 * Freezes the language's own objects before other code is evaluated, whose objects would otherwise be frozen too. `severe`: libraries can still assign to
 * names that their prototypes have (toString, constructor). Stacks are hidden, because they show the surrounding code.
 */
lockdown({
  errorTaming: 'safe',
  consoleTaming: 'unsafe',
  errorTrapping: 'none',
  unhandledRejectionTrapping: 'none',
  overrideTaming: 'severe',
  localeTaming: 'safe',
  reporting: 'none',
});
