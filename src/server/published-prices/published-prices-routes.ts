import { priceApi } from '../../contract/price-api.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import { serve, type Route } from '../http/handler.ts'
import { isPriced } from '../ledger/price.ts'
import { defaultRatios, ratioMapJson } from '../option/default-ratios.ts'
import type { OptionTexts } from '../option/live-options.ts'
import { builtInPrices } from './built-in-prices.ts'
import { comparePrices } from './compare-prices.ts'
import { askPriceList } from './price-list-host.ts'
import { servedModels } from './served-model-store.ts'
import { textsWithPrices } from './set-prices.ts'

export const publishedPricesRoutes = (app: App): Route[] => [
  serve(priceApi.published, async ({ query: { address } }) => {
    const list = address === '' ? builtInPrices() : await askPriceList(app, address)
    const { rows, same, byCall } = comparePrices(list.rows, app.options.ratios())
    const served = new Set((await servedModels(app.database.heavy)).map(({ model }) => model))
    return {
      data: {
        rows: rows.map((row) => ({ ...row, is_served: served.has(row.name) })),
        same,
        left_out: list.leftOut + byCall,
      },
    }
  }),
  serve(priceApi.set, async (call) => {
    const { options, clock } = app
    const change = (before: OptionTexts) => textsWithPrices(before, call.body.rows)
    await options.setAll(change, async (trx, changed) => {
      for (const { key, before, after } of changed) {
        await recordAudit(trx, call, {
          nowSeconds: clock.nowSeconds(),
          action: 'option.update',
          target: { id: 0, name: key },
          before: { [key]: before },
          after: { [key]: after },
        })
      }
    })
  }),
  serve(priceApi.unpriced, async () => {
    const ratios = app.options.ratios()
    const served = await servedModels(app.database.heavy)
    const unpriced = served.filter(
      ({ model, sent, type }) =>
        !isPriced(ratios, { requested: model, mapped: sent, channelType: type }),
    )
    return { data: [...new Set(unpriced.map(({ model }) => model))].toSorted() }
  }),
  serve(priceApi.builtIn, () => ({
    data: { model_ratio: ratioMapJson(defaultRatios().ModelRatio) },
  })),
]
