import { AppError } from '../../app-error.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'

/** Limits of models that are sold by the image. Sizes: OpenAI's API reference, "Images". */
interface Limits {
  sizes: readonly string[]
  promptBytesMax: number
  picturesMax: number
}

const LIMITS: ReadonlyMap<string, Limits> = new Map([
  [
    'dall-e-2',
    { sizes: ['256x256', '512x512', '1024x1024'], promptBytesMax: 1000, picturesMax: 10 },
  ],
  [
    'dall-e-3',
    { sizes: ['1024x1024', '1024x1792', '1792x1024'], promptBytesMax: 4000, picturesMax: 1 },
  ],
])

/**
 * Throws the client's error for an image that the model cannot make. `model`: the name that is sent
 * upstream. The error codes, and the limits of the models that One API knows, are One API's.
 */
export function refuseImpossiblePicture(body: ScannedBody, model: string): void {
  const limits = LIMITS.get(model)
  if (limits === undefined) return
  const { sizes, promptBytesMax, picturesMax } = limits
  const size = memberValue(body, 'size') ?? ''
  if (typeof size === 'string' && size !== '' && !sizes.includes(size)) {
    throw new AppError('picture_size_unsupported', { model, size: size.slice(0, SIZE_SHOWN) })
  }
  const prompt = memberValue(body, 'prompt')
  if (typeof prompt === 'string' && Buffer.byteLength(prompt) > promptBytesMax) {
    throw new AppError('picture_prompt_too_long', { model, max: promptBytesMax })
  }
  const count = memberValue(body, 'n')
  if (typeof count === 'number' && count > picturesMax) {
    throw new AppError('picture_count_out_of_range', { model, max: picturesMax })
  }
}

const SIZE_SHOWN = 20
