import type { z } from 'zod'

/** What a column of another program holds; null: it is no JSON, or of another form. */
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
