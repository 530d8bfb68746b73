import { z } from 'zod'

/**
 * Shapes that several nouns share. Bodies follow the wire's rules: unknown members are ignored,
 * `null` counts as absent, types are strict (a number in quotes is refused).
 *
 * What is said with `describe` and `meta` is for the API description alone. Limits there are those
 * that a handler checks and refuses in words of its own; parsing does not know them. Of what is
 * stored already they are told in words only: an adopted row may be beyond them, and whoever sends
 * it back as it is changes nothing. `example` is what the wire has.
 */

/** Whole number that a database column and a JavaScript number can both hold. */
export const WholeNumber = z.int()
export const Quota = z.int().describe('Quota points.')
export const EpochSeconds = z.int().describe('Seconds since 1970.')

/** Longest text accepted in a field without a limit of its own, in characters. */
const TEXT_LENGTH_MAX = 64 * 1024
export const Text = z.string().max(TEXT_LENGTH_MAX)

/** Absent and `null` mean the same in a body. */
export const optional = <T extends z.ZodType>(shape: T) =>
  shape.nullish().transform((value) => value ?? undefined)

/** Marks, for the API description alone, a member that a call cannot do without. */
export const NEEDED = 'x-needed'

/** A member whose absence is no misfit, but is refused by the handler or empties what is stored. */
export const needed = <T extends z.ZodType>(shape: T) => optional(shape).meta({ [NEEDED]: true })

/** A page number or id in a query: anything that is not a whole number ≥ 0 counts as 0. */
export const LenientNumber = z
  .preprocess((value) => {
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : 0
  }, z.int())
  .describe('Whole number; anything else counts as 0.')

/** A filter in a query: anything that is not a whole number counts as 0, which means all. */
export const LenientFilter = z
  .preprocess((value) => {
    const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
    return typeof number === 'number' && Number.isSafeInteger(number) ? number : 0
  }, z.int())
  .describe('Whole number; 0 and anything else means all.')

export const Page = LenientNumber.describe('Page of ten rows; the first is 0.')

const Id = z
  .string()
  .transform((text) => (/^\d{1,15}$/.test(text) ? Number(text) : 0))
  .meta({ type: 'integer' })

/** Id in a path. A word instead of a number finds nothing. */
export const byId = (description: string, example = 7) =>
  z.object({ id: Id.meta({ description, example }) })

/** Longest search word, in characters. */
const KEYWORD_LENGTH_MAX = 256
export const keyword = (description: string, example = 'li') =>
  z.object({
    keyword: z.string().max(KEYWORD_LENGTH_MAX).default('').meta({ description, example }),
  })

/** Text column that may be NULL in an adopted database; sent as `""`. */
export const NullableText = z
  .string()
  .nullish()
  .transform((value) => value ?? '')
  .pipe(z.string())
/** Number column that may be NULL in an adopted database; sent as 0. */
export const NullableNumber = z
  .number()
  .nullish()
  .transform((value) => value ?? 0)
  .pipe(z.number())
/**
 * The same of a column of whole numbers, and so described. Parsing is content with any number: of a
 * row that somebody has edited by hand, SQLite tells a fraction, which must not hide the others.
 */
export const NullableWholeNumber = NullableNumber.meta({ type: 'integer' })
/** Always `""`: clients of the family expect the member, nobody may read the value. */
export const Withheld = z
  .unknown()
  .optional()
  .transform(() => '')
  .pipe(z.string())
  .meta({ description: 'Always empty.', example: '' })
