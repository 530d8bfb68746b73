import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { JsonSchema } from './openapi-example.ts'

/**
 * Translates the API description sentence by sentence. `openapi-zh.json` has one line per English
 * sentence; a sentence without one stays in English, and a test fails.
 */

const CHINESE_FILE = new URL('openapi-zh.json', import.meta.url)

/** Members of the document that contain text. Members of these names in a schema are objects. */
const TEXTS = new Set(['title', 'summary', 'description', 'x-displayName'])

/** Boundaries of sentences: the space behind a full stop, and lines that may begin a list item. */
const BOUNDARY = /(\n+(?:- `\w+`: )?|(?<=[.。]) )/

/** Returns the document with Chinese texts. */
export function inChinese(document: JsonSchema): JsonSchema {
  const chinese = z
    .record(z.string(), z.string())
    .parse(JSON.parse(readFileSync(CHINESE_FILE, 'utf8')))
  const textOf = (english: string): string =>
    english
      .split(BOUNDARY)
      .map((part) => chinese[part] ?? (part === ' ' ? '' : part.replace('`: ', '`：')))
      .join('')
  const translated = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(translated)
    return typeof value === 'object' && value !== null ? membersOf(value) : value
  }
  const membersOf = (value: object): JsonSchema =>
    Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        TEXTS.has(name) && typeof member === 'string' ? textOf(member) : translated(member),
      ]),
    )
  return membersOf(document)
}
