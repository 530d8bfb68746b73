import { useTranslation } from 'react-i18next'
import type { PriceFactors } from '../../contract/log-api.ts'
import { mark } from '../app/i18n.ts'
import type { PriceLine } from '../../contract/call-cost.ts'
import { priceBreakdown } from './log-price.ts'
import styles from './log.module.css'

const kinds: Readonly<Record<string, string>> = {
  prompt: mark('提示'),
  cached: mark('缓存读取'),
  audio_cached: mark('音频缓存读取'),
  cache_write: mark('缓存写入'),
  cache_write_hour: mark('缓存写入（1 小时）'),
  audio_prompt: mark('音频输入'),
  image_prompt: mark('图片输入'),
  completion: mark('补全'),
  audio_completion: mark('音频输出'),
  image_completion: mark('图片输出'),
  picture: mark('图片'),
  second: mark('录音秒数'),
  call: mark('按次'),
  tool: mark('工具'),
}

const grouped = (count: number): string => count.toLocaleString('en-US')

/** Formats `2 × 1.5` with its divisor. */
const product = ({ count, ratios, per }: PriceLine): string =>
  [grouped(count), ...ratios].join(' × ') + (per === 1 ? '' : ` ÷ ${grouped(per)}`)

interface PriceTableProps {
  price: PriceFactors
  /** Points that were charged. */
  quota: number
  costText: (quota: number) => string
}

/** Shows how the charged points follow from tokens and ratios, line by line. */
export function PriceTable({ price, quota, costText }: PriceTableProps) {
  const { t } = useTranslation()
  const story = priceBreakdown(price)
  if (story === null) return <p className={styles['quiet']}>{t('计价的细节无法识别')}</p>
  const { lines, group, groupRatio, exact, total } = story
  const isRounded = exact !== grouped(total)
  return (
    <table className={styles['price']} aria-label={t('为什么是这个价格')}>
      <tbody>
        {lines.map((line) => (
          <tr key={`${line.kind} ${line.name ?? ''}`}>
            <th scope="row">
              {t(kinds[line.kind] ?? line.kind)} {line.name === undefined ? '' : `${line.name} · `}
              {product(line)}
            </th>
            <td>{line.points}</td>
          </tr>
        ))}
        {price.tier_above !== undefined && (
          <tr>
            <th scope="row" colSpan={2}>
              {t('提示超过 {{tokens}} tokens，按长上下文倍率', {
                tokens: grouped(price.tier_above),
              })}
            </th>
          </tr>
        )}
        <tr>
          <th scope="row">{t('分组 {{group}}', { group })}</th>
          <td>× {groupRatio}</td>
        </tr>
        {isRounded && (
          <tr>
            <th scope="row">{t('合计（向上取整前）')}</th>
            <td>{exact}</td>
          </tr>
        )}
        {price.output_limit !== undefined && (
          <tr>
            <th scope="row" colSpan={2}>
              {t('余额所限，每个回复最多 {{tokens}} tokens', {
                tokens: grouped(price.output_limit),
              })}
            </th>
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
            <th scope="row">{t('余额不足，记为欠费')}</th>
            <td>{t('{{points}} 点', { points: grouped(price.debt) })}</td>
          </tr>
        )}
      </tfoot>
    </table>
  )
}
