import { readFileSync } from 'node:fs'
import { ROOT_USERNAME } from '../../contract/user.ts'

/**
 * Similar names have a key in common. The keys follow Unicode UTS #39, section 4 (confusable
 * detection): characters that look alike are replaced by one prototype. `confusables.json` lists
 * the replaced characters by prototype. It is `confusables.txt` of Unicode 13 (© Unicode, Inc.,
 * Unicode License) without characters that NFKC and NFD change anyway.
 */
const PROTOTYPES: ReadonlyMap<string, string> = new Map(
  Object.entries<string>(
    JSON.parse(readFileSync(new URL('confusables.json', import.meta.url), 'utf8')),
  ).flatMap(([prototype, characters]) =>
    [...characters].map((character): [string, string] => [character, prototype]),
  ),
)

/**
 * Folds each character separately, because the Greek sigma has another lowercase form at the end of
 * a word.
 */
const foldCase = (text: string): string =>
  [...text].map((character) => character.toUpperCase().toLowerCase()).join('')

const skeleton = (text: string): string =>
  [...text.normalize('NFD').replace(/\p{Default_Ignorable_Code_Point}/gu, '')]
    .map((character) => PROTOTYPES.get(character) ?? character)
    .join('')
    .normalize('NFD')

const plain = (name: string): string => name.normalize('NFKC').trim()

/** Form of a name for comparisons that ignore case and surrounding whitespace. */
export const foldName = (name: string): string => foldCase(plain(name))

/** Key that all upper-case and lower-case spellings of a name share. */
export const caselessKey = (name: string): string => foldCase(skeleton(foldName(name)))

/**
 * Returns the keys of a name, sorted; one or two. Some letters look alike in one case only: `aIice`
 * with a capital I looks like `alice`, but not in lower case.
 */
export const nameKeys = (name: string): string[] =>
  [...new Set([caselessKey(name), foldCase(skeleton(plain(name)))])].toSorted()

/** Names that users would take for the operator's. */
const RESERVED_NAMES = [ROOT_USERNAME, 'admin', 'system']

const RESERVED_KEYS: ReadonlySet<string> = new Set(
  RESERVED_NAMES.flatMap((name) => [name, name.toUpperCase()].flatMap(nameKeys)),
)

/** Whether a name is similar to one that is reserved for super admins. */
export const isReservedName = (name: string): boolean =>
  nameKeys(name).some((key) => RESERVED_KEYS.has(key))
