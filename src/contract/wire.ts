import { z } from 'zod'

/**
 * Shapes that several nouns share. Bodies follow the wire's rules: unknown members are ignored,
 * `null` counts as absent, types are strict (a number in quotes is refused).
 */

/** Whole number that a database column and a JavaScript number can both hold. */
export const WholeNumber = z.int()
/** Quota points. */
export const Quota = z.int()
/** Seconds since 1970. */
export const EpochSeconds = z.int()

/** Longest text accepted in a field without a limit of its own, in characters. */
const TEXT_LENGTH_MAX = 64 * 1024
export const Text = z.string().max(TEXT_LENGTH_MAX)

/** Absent and `null` mean the same in a body. */
export const optional = <T extends z.ZodType>(shape: T) =>
  shape.nullish().transform((value) => value ?? undefined)

/** A page number or id in a query: anything that is not a whole number ≥ 0 counts as 0. */
export const LenientNumber = z
  .preprocess((value) => {
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : 0
  }, z.int())
  .meta({ description: 'whole number; anything else counts as 0' })

/** A filter in a query: anything that is not a whole number counts as 0, which means all. */
export const LenientFilter = z
  .preprocess((value) => {
    const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
    return typeof number === 'number' && Number.isSafeInteger(number) ? number : 0
  }, z.int())
  .meta({ description: 'whole number; 0 and anything else means all' })

/** Id in a path. A word instead of a number finds nothing. */
export const ById = z.object({
  id: z.string().transform((text) => (/^\d{1,15}$/.test(text) ? Number(text) : 0)),
})

/** Longest search word, in characters. */
const KEYWORD_LENGTH_MAX = 256
export const Keyword = z.object({
  keyword: z.string().max(KEYWORD_LENGTH_MAX).default(''),
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
/** Always `""`: clients of the family expect the member, nobody may read the value. */
export const Withheld = z
  .unknown()
  .optional()
  .transform(() => '')
  .pipe(z.string())
  .meta({ description: 'always empty', examples: [''] })
