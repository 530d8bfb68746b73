import type { FieldProblem, Surface } from './surface.ts'
import { AppError } from '../../app-error.ts'
import { memberValue, type ScannedBody } from '../json/body-scan.ts'

/** Members of a body as JSON spells them, or as the texts of a form do. */

export const missing = (field: string): FieldProblem => ({ field, isMissing: true })
export const invalid = (field: string): FieldProblem => ({ field, isMissing: false })

/** Error of an invalid field, for the client. */
export const fieldRefusal = (
  { field, isMissing }: FieldProblem,
  { wrongMember = 'relay_field_invalid' }: Pick<Surface, 'wrongMember'>,
): AppError => new AppError(isMissing ? 'relay_field_required' : wrongMember, { field })

/** A text; '' when absent, null when it is none. */
export function textMember(body: ScannedBody, name: string): string | null {
  const value = memberValue(body, name) ?? ''
  return typeof value === 'string' ? value : null
}

/** A whole number from `min` to `max`; `otherwise` when absent, null when it is none. */
export function countMember(
  body: ScannedBody,
  name: string,
  { min, max, otherwise }: { min: number; max: number; otherwise: number },
): number | null {
  const member = memberValue(body, name) ?? ''
  // A form has no other word for nothing.
  const sent = member === '' ? otherwise : member
  const value = typeof sent === 'string' && /^\d{1,15}$/.test(sent) ? Number(sent) : sent
  const isCount = typeof value === 'number' && Number.isInteger(value)
  return isCount && value >= min && value <= max ? value : null
}

/** A switch; false when absent, null when it is none. */
export function flagMember(body: ScannedBody, name: string): boolean | null {
  const value = memberValue(body, name) ?? false
  if (typeof value === 'boolean') return value
  // Python writes them large into forms.
  if (value === 'true' || value === 'True') return true
  return value === 'false' || value === 'False' || value === '' ? false : null
}
