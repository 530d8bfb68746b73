import { withoutImageData } from '../../count/estimate.ts'
import { imageSize, imageSizeOfDataUrl, type ImageSize } from '../../count/image-size.ts'
import { editedImageTokens } from '../../count/image-tokens.ts'
import { memberBytes, memberValue, type ScannedBody } from '../../json/body-scan.ts'
import { listOf, parseJson, recordOr, textOr } from '../../json/json-value.ts'
import type { Form } from '../../transport/form.ts'

/** Images in a request, to be edited or used as references. */

/** Tokens of these images, if the model counts any. */
export function sentImageTokens(
  { body, form }: { body: ScannedBody; form: Form | null },
  model: string,
): number {
  const isFaithful = memberValue(body, 'input_fidelity') === 'high'
  return [...filesIn(form), ...namedIn(body)].reduce(
    (tokens, size) => tokens + editedImageTokens(model, size, isFaithful),
    0,
  )
}

/** A mask marks an area, and does not count as an image. */
const filesIn = (form: Form | null): (ImageSize | null)[] =>
  (form?.files ?? []).filter(({ name }) => name !== 'mask').map(({ bytes }) => imageSize(bytes))

/** Images in the body by URL, which may contain their data. */
const namedIn = (body: ScannedBody): (ImageSize | null)[] =>
  ['image', 'images'].flatMap((name) => {
    const bytes = memberBytes(body, name)
    if (bytes === null) return []
    const pictures = listOf(parseJson(withoutImageData(bytes).toString('utf8')))
    return pictures.map((picture) => imageSizeOfDataUrl(addressOf(picture)))
  })

/**
 * URL as a text, or in an object that OpenAI and xAI spell differently; '' if it is stored
 * elsewhere.
 */
export function addressOf(picture: unknown): string {
  if (typeof picture === 'string') return picture
  const { image_url: address, url } = recordOr(picture)
  return textOr(address) || textOr(recordOr(address).url) || textOr(url)
}
