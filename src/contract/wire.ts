import { z } from 'zod'

/**
 * Schemas that several endpoints share. Bodies follow the wire's rules: unknown members are
 * ignored, `null` counts as absent, and types are strict (a number in quotes is rejected).
 *
 * `describe` and `meta` only affect the API description. Limits in `meta` are those that a handler
 * checks with an error of its own; parsing does not enforce them. Responses mention limits in their
 * descriptions only: rows of an adopted database may exceed them, and a client that sends such a
 * row back unchanged must not fail. `example` is a value as on the wire.
 */

/** Integer that a database column and a JavaScript number can both hold. */
export const WholeNumber = z.int()
export const Quota = z.int().describe('Quota points.')
export const EpochSeconds = z.int().describe('Epoch seconds.')

/** Maximum length of a text field without its own limit, in characters. */
const TEXT_LENGTH_MAX = 64 * 1024
export const Text = z.string().max(TEXT_LENGTH_MAX)

/** In a body, absent and `null` mean the same. */
export const optional = <T extends z.ZodType>(shape: T) =>
  shape.nullish().transform((value) => value ?? undefined)

/** Marks a required member in the API description only. */
export const NEEDED = 'x-needed'

/**
 * A required member whose absence passes parsing: the handler rejects it or clears the stored
 * value.
 */
export const needed = <T extends z.ZodType>(shape: T) => optional(shape).meta({ [NEEDED]: true })

/** A page number or id in a query: anything but an integer ≥ 0 counts as 0. */
export const LenientNumber = z
  .preprocess((value) => {
    const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : 0
  }, z.int())
  .describe('Integer; any other value counts as 0.')

/** A filter in a query: anything but an integer counts as 0, which means all. */
export const LenientFilter = z
  .preprocess((value) => {
    const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
    return typeof number === 'number' && Number.isSafeInteger(number) ? number : 0
  }, z.int())
  .describe('Integer; 0 or any other value means all.')

export const Page = LenientNumber.describe('Page of ten rows, counted from 0.')

const Id = z
  .string()
  .transform((text) => (/^\d{1,15}$/.test(text) ? Number(text) : 0))
  .meta({ type: 'integer' })

/** Id in a path. A text that is not a number matches no record. */
export const byId = (description: string, example = 7) =>
  z.object({ id: Id.meta({ description, example }) })

/** Maximum length of a search keyword, in characters. */
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
 * Like `NullableNumber`, described as an integer. Parsing accepts any number: SQLite may return a
 * fraction from a row that was edited by hand, which must not hide the other rows.
 */
export const NullableWholeNumber = NullableNumber.meta({ type: 'integer' })
/** Always `""`: clients of One API expect the member, but its value is never disclosed. */
export const Withheld = z
  .unknown()
  .optional()
  .transform(() => '')
  .pipe(z.string())
  .meta({ description: 'Always empty.', example: '' })
