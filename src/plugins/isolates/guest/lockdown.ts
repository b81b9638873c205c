// oxlint-disable-next-line import/no-unassigned-import -- it gives its names to the global object
import 'ses';

/*
 * Freezes the language's own objects before anything else is there to be frozen with them. `severe`: libraries that assign to names their prototypes
 * have (toString, constructor) work on as they would elsewhere. Stacks are hidden since they tell of the code around.
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
