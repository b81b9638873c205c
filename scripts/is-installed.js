/** Exits with 0 when node_modules holds what package-lock.json asks for. Runs before anything is installed. */
import { existsSync, readFileSync } from 'node:fs';

const read = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).packages : {});
const wanted = Object.entries(read('package-lock.json')).filter(([path]) => path !== '');
const installed = read('node_modules/.package-lock.json');
// Optional packages are for other platforms when they are not there.
const missing = wanted.filter(([path, entry]) => installed[path]?.version !== entry.version && !(entry.optional && !(path in installed)));
process.exitCode = missing.length === 0 ? 0 : 1;
