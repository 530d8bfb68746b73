import { capabilitiesOf, type AskedModel } from './model-table.ts'

/**
 * The most tokens that a model can answer with, reasoning included; null if it is unknown. Hosts of
 * an open model allow different figures: this is the highest, so that nobody gets less than the
 * model can do.
 */
export const outputLimitOf = (asked: AskedModel): number | null =>
  capabilitiesOf(asked).limit?.output ?? null
