import type { Redemption } from '../../contract/redemption-api.ts'
import {
  DEFAULT_REDEMPTION_COUNT,
  DEFAULT_REDEMPTION_QUOTA,
  REDEMPTION_COUNT_MAX,
} from '../../contract/redemption.ts'
import { pointsOf } from '../app/form/points.ts'
import { mark } from '../app/i18n.ts'

/** Form values: texts as entered. */
export interface RedemptionForm {
  name: string
  /** In points. */
  quota: string
  /** For creation only. */
  count: string
}

export const newRedemptionForm: RedemptionForm = {
  name: '',
  quota: String(DEFAULT_REDEMPTION_QUOTA),
  count: String(DEFAULT_REDEMPTION_COUNT),
}

export const toForm = ({ name, quota }: Redemption): RedemptionForm => ({
  ...newRedemptionForm,
  name,
  quota: String(quota),
})

function countOf(text: string): number | null {
  const count = pointsOf(text)
  return count !== null && count >= 1 && count <= REDEMPTION_COUNT_MAX ? count : null
}

/** The form must be valid. */
export const toInput = (form: RedemptionForm) => ({
  name: form.name.trim(),
  quota: pointsOf(form.quota) ?? DEFAULT_REDEMPTION_QUOTA,
})

/** The form must be valid. */
export const toCreation = (form: RedemptionForm) => ({
  ...toInput(form),
  count: countOf(form.count) ?? DEFAULT_REDEMPTION_COUNT,
})

/** Errors by field, in the order of the form. Chinese, translated where displayed. */
export function formErrors(
  form: RedemptionForm,
  isNew: boolean,
): Map<keyof RedemptionForm, string> {
  const errors = new Map<keyof RedemptionForm, string>()
  if (form.name.trim() === '') errors.set('name', mark('请输入兑换码名称'))
  const quota = pointsOf(form.quota)
  // Creation treats 0 as a missing quota.
  if (isNew && (quota === null || quota === 0)) {
    errors.set('quota', mark('额度必须是 1 到 1125899906842624 的整数，例如 500000'))
  } else if (quota === null) {
    errors.set('quota', mark('额度必须是 0 到 1125899906842624 的整数，例如 500000'))
  }
  if (isNew && countOf(form.count) === null) {
    errors.set('count', mark('生成数量必须是 1 到 100 的整数，例如 10'))
  }
  return errors
}

/** File of codes, named after the redemption, one code per line. */
export function codesFile(
  name: string,
  codes: readonly string[],
): { fileName: string; text: string } {
  // Replaces characters that some file systems reject, and dots or spaces at the ends, which hide
  // the file or its extension.
  const safe = name
    .replace(/[\\/:*?"<>|\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '_')
    .replace(/^[. ]+|[. ]+$/g, (edge) => '_'.repeat(edge.length))
  return { fileName: `${safe}.txt`, text: codes.map((code) => `${code}\n`).join('') }
}
