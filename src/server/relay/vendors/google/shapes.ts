import { unsupportedField } from '../../protocols/canonical/reading.ts'
import { wordOf } from '../../json/json-value.ts'

/** Google's models draw by the shape of an image, OpenAI's clients ask for its sides in pixels. */

interface Sides {
  width: number
  height: number
}

/** How far a shape may be from the one that was asked for, which others have no word for. */
const RATIO_OFF_MAX = 0.15

/** The sides that a `size` names; null: it leaves them to the model. Throws for what is no size. */
export function sidesOf(size: unknown): Sides | null {
  if (size === null || size === undefined || size === 'auto') return null
  const [, width, height] = /^(\d{2,5})x(\d{2,5})$/.exec(wordOf(size)) ?? []
  if (width === undefined || height === undefined) throw unsupportedField('size')
  return { width: Number(width), height: Number(height) }
}

/** The shape among those, as `16:9`, that is most like the sides. Throws where none is. */
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
