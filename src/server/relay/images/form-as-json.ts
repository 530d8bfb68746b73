import { invalidField } from '../canonical/reading.ts'
import { dataUrl } from '../canonical/media.ts'
import { imageType } from '../count/image-size.ts'
import type { SentForm } from '../dialect/provider.ts'
import { parseJson, recordOr } from '../json/json-value.ts'

const MASK = 'mask'

/**
 * A form as the JSON that OpenAI takes in its place: the pictures as addresses that hold them.
 * Throws for files that are no pictures. Source: OpenAI's API reference, "Create image edit".
 */
export function formAsJson({ fields: texts, files }: SentForm): Buffer {
  const fields = recordOr(parseJson(texts.bytes.toString('utf8')))
  const images = files.filter(({ name }) => name !== MASK).map(asPicture)
  const masks = files.filter(({ name }) => name === MASK).map(asPicture)
  const pictures = { images, ...(masks[0] === undefined ? {} : { mask: masks[0] }) }
  return Buffer.from(JSON.stringify({ ...fields, ...pictures }))
}

function asPicture({ name, bytes }: SentForm['files'][number]): { image_url: string } {
  const mimeType = imageType(bytes)
  if (mimeType === null) throw invalidField(name)
  return { image_url: dataUrl({ mimeType, data: bytes.toString('base64') }) }
}
