import { completionRatio, ratioMapJson, type RatioMap } from '../option/default-ratios.ts'
import type { Ratios } from '../option/live-options.ts'

/** Ratio maps in force as JSON texts, so that their decimals arrive as they are counted with. */
export interface PriceTexts {
  model_ratio: string
  completion_ratio: string
  group_ratio: string
}

/** Writes the maps out once for each set of ratios, however many people look at the price list. */
export function createPriceTexts(): (ratios: Ratios) => PriceTexts {
  let written: { version: number; texts: PriceTexts } | null = null
  return (ratios) => {
    if (written?.version !== ratios.version) {
      const texts = {
        model_ratio: ratioMapJson(ratios.model),
        completion_ratio: ratioMapJson(completionOf(ratios)),
        group_ratio: ratioMapJson(ratios.group),
      }
      written = { version: ratios.version, texts }
    }
    return written.texts
  }
}

/** What each priced model's completion costs: its own entry, else what its name says. */
const completionOf = ({ model, completion }: Ratios): RatioMap =>
  new Map(
    [...model.keys()].map((entry) => {
      const [, name = entry, type = '0'] = /^(.*)\((\d+)\)$/.exec(entry) ?? []
      return [entry, completionRatio(completion, name, Number(type))]
    }),
  )
