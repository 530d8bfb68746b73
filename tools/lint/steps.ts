/**
 * Commands that look at the structure and the wording of the code, for `npm run check` and `npm
 * test`.
 */
export const STRUCTURE_STEPS = {
  lint: 'oxlint --format unix .',
  wording: 'node tools/plain-words.ts',
  imports: 'depcruise src tools bench e2e',
  'unused code': 'knip --no-progress --treat-config-hints-as-errors',
  'code that only tests use': 'knip --production --no-progress --treat-config-hints-as-errors',
}
