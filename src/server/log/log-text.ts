import { logAmounts, logText } from '../../contract/log-sentences.ts'
import type { LiveOptions } from '../option/live-options.ts'

/** Formats quota in log contents: dollars with six decimals, or points. */
export const quotaLogText = (
  quota: number,
  options: Pick<LiveOptions, 'flag' | 'number'>,
): string =>
  options.flag('DisplayInCurrencyEnabled')
    ? logText(logAmounts.dollars, {
        dollars: (quota / options.number('QuotaPerUnit')).toFixed(6),
      })
    : logText(logAmounts.points, { points: quota })
