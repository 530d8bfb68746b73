import { unsupportedField } from '../../protocols/canonical/reading.ts'
import { wordOf } from '../../json/json-value.ts'

/** Aspect ratios: Google's models accept a ratio, OpenAI clients a size in pixels. */

interface Sides {
  width: number
  height: number
}

/** Maximum difference between the logarithms of the requested and the supported aspect ratio. */
const RATIO_OFF_MAX = 0.15

/** Parses `size`; null if it leaves the size to the model. Throws if it is not a size. */
export function sidesOf(size: unknown): Sides | null {
  if (size === null || size === undefined || size === 'auto') return null
  const [, width, height] = /^(\d{2,5})x(\d{2,5})$/.exec(wordOf(size)) ?? []
  if (width === undefined || height === undefined) throw unsupportedField('size')
  return { width: Number(width), height: Number(height) }
}

/**
 * Returns the supported aspect ratio, such as `16:9`, that is closest to the size. Throws if none
 * is close enough.
 */
export function nearestShape({ width, height }: Sides, shapes: readonly string[]): string {
  const off = (shape: string): number => Math.abs(Math.log(width / height / ratioOf(shape)))
  const nearest = shapes.toSorted((one, other) => off(one) - off(other))[0]
  if (nearest === undefined || off(nearest) > RATIO_OFF_MAX) throw unsupportedField('size')
  return nearest
}

function ratioOf(shape: string): number {
  const [width, height] = shape.split(':').map(Number)
  return (width ?? 1) / (height ?? 1)
}
