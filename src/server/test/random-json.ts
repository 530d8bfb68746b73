import fc from 'fast-check'
import type { JsonRecord } from '../relay/json/json-value.ts'

/**
 * Returns generators of JSON with given names and words, so that parsers find expected names in
 * unexpected places and types. Both are space-separated lists.
 */
export function randomJson(names: string, words: string) {
  const name = fc.constantFrom(...names.split(' '))
  const plain = [null, true, 0, 1, 2, 17, -1, 1.5, 1e308, '', ...words.split(' ')]
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6, depthSize: 'small' },
      fc.constantFrom<unknown>(...plain),
      tie('object'),
      fc.array(tie('value'), { maxLength: 4 }),
    ),
    object: fc.dictionary(name, tie('value'), { maxKeys: 8 }),
  }))
  // A copy has only the members, without properties added by the library.
  const record = fc
    .dictionary(name, value, { maxKeys: 10 })
    .map((object): JsonRecord => ({ ...object }))
  return { value, record }
}
