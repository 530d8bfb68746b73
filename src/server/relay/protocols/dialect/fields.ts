import type { FieldProblem, Surface } from './surface.ts'
import { AppError } from '../../../app-error.ts'
import { memberValue, type ScannedBody } from '../../json/body-scan.ts'

/** Members of a JSON body, or text fields of a form. */

export const missing = (field: string): FieldProblem => ({ field, isMissing: true })
export const invalid = (field: string): FieldProblem => ({ field, isMissing: false })

/** Error of an invalid field, for the client. */
export const fieldRefusal = (
  { field, isMissing }: FieldProblem,
  { wrongMember = 'relay_field_invalid' }: Pick<Surface, 'wrongMember'>,
): AppError => new AppError(isMissing ? 'relay_field_required' : wrongMember, { field })

/** Returns a text; '' when absent, null when it is not a text. */
export function textMember(body: ScannedBody, name: string): string | null {
  const value = memberValue(body, name) ?? ''
  return typeof value === 'string' ? value : null
}

/** Returns an integer from `min` to `max`; `otherwise` when absent, null when invalid. */
export function countMember(
  body: ScannedBody,
  name: string,
  { min, max, otherwise }: { min: number; max: number; otherwise: number },
): number | null {
  const member = memberValue(body, name) ?? ''
  // A form expresses "not set" as an empty text.
  const sent = member === '' ? otherwise : member
  const value = typeof sent === 'string' && /^\d{1,15}$/.test(sent) ? Number(sent) : sent
  const isCount = typeof value === 'number' && Number.isInteger(value)
  return isCount && value >= min && value <= max ? value : null
}

/** Returns a boolean; false when absent, null when invalid. */
export function flagMember(body: ScannedBody, name: string): boolean | null {
  const value = memberValue(body, name) ?? false
  if (typeof value === 'boolean') return value
  // Python clients capitalize booleans in forms.
  if (value === 'true' || value === 'True') return true
  return value === 'false' || value === 'False' || value === '' ? false : null
}
