import type { z } from 'zod'

/** Parses a JSON column of another program; null if it is invalid or has another form. */
export function readJson<T>(form: z.ZodType<T>, text: string): T | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const { data, success } = form.safeParse(value)
  return success ? data : null
}
