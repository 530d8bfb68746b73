import { invalidField } from '../../protocols/canonical/reading.ts'
import { dataUrl } from '../../protocols/canonical/media.ts'
import { imageType } from '../../count/image-size.ts'
import type { SentForm } from '../../protocols/dialect/provider.ts'
import { parseJson, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'

const MASK = 'mask'

/**
 * Converts a form to JSON in OpenAI's format: images become `data:` URLs, and numbers and booleans,
 * which a form contains as texts, get their types. Throws for files that are not images. Source:
 * OpenAI's API reference, "Create image edit".
 */
export function formAsJson({ fields: texts, files }: SentForm): Buffer {
  const fields = typedFields(recordOr(parseJson(texts.bytes.toString('utf8'))))
  const images = files.filter(({ name }) => name !== MASK).map(asImage)
  const masks = files.filter(({ name }) => name === MASK).map(asImage)
  const pictures = { images, ...(masks[0] === undefined ? {} : { mask: masks[0] }) }
  return Buffer.from(JSON.stringify({ ...fields, ...pictures }))
}

/** Members that stay texts even if they look like numbers. */
const WORDS: ReadonlySet<string> = new Set(
  'model prompt negative_prompt negativeText maskPrompt style user'.split(' '),
)
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/
/** Python clients capitalize booleans. */
const SWITCHES: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
])

function typedFields(fields: JsonRecord): JsonRecord {
  const typed = Object.entries(fields).map(([name, value]) => {
    const text = textOr(value)
    if (WORDS.has(name)) return [name, text]
    return [name, SWITCHES.get(text) ?? (NUMBER.test(text) ? JSON.rawJSON(text) : text)]
  })
  // A form expresses "not set" as an empty text.
  return Object.fromEntries(typed.filter(([, value]) => value !== ''))
}

function asImage({ name, bytes }: SentForm['files'][number]): { image_url: string } {
  const mimeType = imageType(bytes)
  if (mimeType === null) throw invalidField(name)
  return { image_url: dataUrl({ mimeType, data: bytes.toString('base64') }) }
}
