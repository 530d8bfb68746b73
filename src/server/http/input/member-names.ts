import { z } from 'zod'

/**
 * Renames the members of a body as the shape declares them, because the wire ignores their case. A
 * member with the exact spelling takes precedence.
 */
export function withDeclaredNames(shape: z.ZodType, body: unknown): unknown {
  const declared = shape instanceof z.ZodPipe ? shape.in : shape
  if (!(declared instanceof z.ZodObject)) return body
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const members = new Map<string, unknown>(Object.entries(body))
  const missing = Object.keys(declared.shape).filter((name) => !members.has(name))
  if (missing.length === 0) return body
  const wanted = new Map(missing.map((name) => [name.toLowerCase(), name]))
  let isRenamed = false
  for (const [given, value] of Object.entries(body)) {
    const name = wanted.get(given.toLowerCase())
    if (name === undefined) continue
    members.set(name, value)
    isRenamed = true
  }
  return isRenamed ? Object.fromEntries(members) : body
}
