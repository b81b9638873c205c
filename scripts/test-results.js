/**
 * Reads a report of `jest --json`: node scripts/test-results.js REPORT passed | failed | failed-files | passed-in-failed-files
 * A file that could not be loaded counts as one failure.
 */
import { readFileSync } from 'node:fs';

const [report = '', wanted] = process.argv.slice(2);
const { testResults: files } = JSON.parse(readFileSync(report, 'utf8'));
const failedFiles = files.filter((file) => file.status === 'failed');
const countOf = (list, status) => list.flatMap((file) => file.assertionResults).filter((test) => test.status === status).length;
const unloadable = failedFiles.filter((file) => countOf([file], 'failed') === 0);

const answers = {
  passed: countOf(files, 'passed'),
  failed: countOf(files, 'failed') + unloadable.length,
  'failed-files': failedFiles.map((file) => file.name).join('\n'),
  'passed-in-failed-files': countOf(failedFiles, 'passed'),
};
console.log(answers[wanted]);
