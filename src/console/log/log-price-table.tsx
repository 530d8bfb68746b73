import { useTranslation } from 'react-i18next'
import type { PriceFactors } from '../../contract/log-api.ts'
import { mark } from '../app/i18n.ts'
import { priceStory, type PriceLine } from './log-price.ts'
import styles from './log.module.css'

const kinds: Record<PriceLine['kind'], string> = {
  prompt: mark('提示'),
  cached: mark('缓存读取'),
  completion: mark('补全'),
}

const grouped = (count: number): string => count.toLocaleString('en-US')

interface PriceTableProps {
  price: PriceFactors
  /** Points that were charged. */
  quota: number
  costText: (quota: number) => string
}

/** Tokens times ratios, line by line, down to the points that were charged. */
export function PriceTable({ price, quota, costText }: PriceTableProps) {
  const { t } = useTranslation()
  const story = priceStory(price)
  if (story === null) return <p className={styles['quiet']}>{t('计价的细节无法识别')}</p>
  const { lines, group, groupRatio, exact, total } = story
  const isRounded = exact !== grouped(total)
  return (
    <table className={styles['price']} aria-label={t('为什么是这个价格')}>
      <tbody>
        {lines.map(({ kind, tokens, ratios, points }) => (
          <tr key={kind}>
            <th scope="row">
              {t(kinds[kind])} {[grouped(tokens), ...ratios].join(' × ')}
            </th>
            <td>{points}</td>
          </tr>
        ))}
        <tr>
          <th scope="row">{t('分组 {{group}}', { group })}</th>
          <td>× {groupRatio}</td>
        </tr>
        {isRounded && (
          <tr>
            <th scope="row">{t('合计，向上取整')}</th>
            <td>{exact}</td>
          </tr>
        )}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">{t('共 {{points}} 点', { points: grouped(total) })}</th>
          <td>{costText(total)}</td>
        </tr>
        {total !== quota && (
          <tr>
            <th scope="row">{t('实际扣除 {{points}} 点', { points: grouped(quota) })}</th>
            <td>{costText(quota)}</td>
          </tr>
        )}
        {price.debt > 0 && (
          <tr data-bad>
            <th scope="row">{t('余额不足，未能扣除')}</th>
            <td>{t('{{points}} 点', { points: grouped(price.debt) })}</td>
          </tr>
        )}
      </tfoot>
    </table>
  )
}
