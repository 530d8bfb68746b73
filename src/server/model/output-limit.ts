import { capabilitiesOf, type AskedModel } from './model-table.ts'

/**
 * Returns the maximum number of output tokens of a model, including reasoning; null if unknown.
 * Hosts of an open model have different limits; this is the highest, so that it never limits the
 * model.
 */
export const outputLimitOf = (asked: AskedModel): number | null =>
  capabilitiesOf(asked).limit?.output ?? null
