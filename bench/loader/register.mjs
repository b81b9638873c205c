// Runs TypeScript as the built package does. tsx would add a call to the making of each function, to keep its name, which the package does not have; those calls
// take up to a fifth of a short request.
import { register } from 'node:module';

register('./hooks.mjs', import.meta.url);
