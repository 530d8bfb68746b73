import { PRICE_ROWS_MAX } from '../../contract/price-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { fetchPublished, type PublishedFailure } from './published-file.ts'
import { readPriceList, type PriceList } from './published-lists.ts'

const failed: PublishedFailure = (problemZh, problemEn, detail) =>
  new AppError('published_prices_failed', { problemZh, problemEn }, detail)

/**
 * Fetches a list of prices. Throws `published_prices_failed`; its text contains nothing from the
 * response.
 */
export async function askPriceList(
  app: Pick<App, 'egress' | 'version'>,
  address: string,
): Promise<PriceList> {
  const list = readPriceList(await fetchPublished(app, address, failed))
  if (list !== null && list.rows.length > PRICE_ROWS_MAX) {
    throw failed('对方的价格表过长', 'the list is too long')
  }
  if (list === null) {
    throw failed(
      '响应不是可识别的价格表（models.dev、OpenRouter、LiteLLM、New API 或 Gatehouse）',
      'the response is not a known price list (models.dev, OpenRouter, LiteLLM, New API or Gatehouse)',
    )
  }
  return list
}
