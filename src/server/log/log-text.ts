import type { LiveOptions } from '../option/live-options.ts'

/** Quota inside log contents: dollars with six decimals, or points. */
export const quotaLogText = (
  quota: number,
  options: Pick<LiveOptions, 'flag' | 'number'>,
): string =>
  options.flag('DisplayInCurrencyEnabled')
    ? `＄${(quota / options.number('QuotaPerUnit')).toFixed(6)} 额度`
    : `${quota} 点额度`
