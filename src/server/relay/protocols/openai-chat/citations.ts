import type { Citation } from '../canonical/web-search.ts'
import { recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Citations of an answer in OpenAI's two APIs. Sources: OpenAI's API reference, "Chat completions",
 * `message.annotations`, and "Responses", `output_text.annotations`.
 */

/**
 * Reads `url_citation`s, with positions in the whole text; `base`: start of their own text in it.
 */
export const citationsIn = (annotations: readonly unknown[], base = 0): Citation[] =>
  annotations.map(recordOr).flatMap((annotation): Citation[] => {
    if (annotation.type !== 'url_citation') return []
    // Chat completions wrap the members in an object of that name.
    const { url, title, start_index, end_index } = {
      ...annotation,
      ...recordOr(annotation.url_citation),
    } as JsonRecord
    if (textOr(url) === '') return []
    const start = base + placeOr(start_index, 0)
    const end = Math.max(start, base + placeOr(end_index, 0))
    return [{ url: textOr(url), title: textOr(title) || null, quote: null, start, end }]
  })

const placeOr = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : otherwise

/** Writes a citation in a text that begins at `base` and has `length` characters so far. */
export function annotationOf(
  { url, title, start, end }: Citation,
  { base, length }: { base: number; length: number },
): JsonRecord {
  const within = (place: number): number => Math.min(Math.max(0, place - base), length)
  return {
    type: 'url_citation',
    url,
    title: title ?? url,
    start_index: within(start),
    end_index: within(end),
  }
}

export function chatAnnotation(citation: Citation, length: number): JsonRecord {
  const { type, ...members } = annotationOf(citation, { base: 0, length })
  return { type, url_citation: members }
}
