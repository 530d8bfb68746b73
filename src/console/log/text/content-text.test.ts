import i18n from 'i18next'
import { beforeAll, expect, test } from 'vitest'
import english from '../../app/en.json' with { type: 'json' }
import { contentText } from './content-text.ts'

const told: readonly (readonly [stored: string, shown: string])[] = [
  ['倍率：0.07 × 0.80 × 4.00', 'Ratio: 0.07 × 0.80 × 4.00'],
  ['价格：$0.04 × 1.00', 'Price: $0.04 × 1.00'],
  [
    '管理员将用户额度从 ＄10.000922 额度修改为 ＄20.000000 额度',
    'An admin changed the quota from $10.000922 to $20.000000',
  ],
  ['新用户注册赠送 500 点额度', 'Given to a new user: 500 points'],
  ['通过兑换码充值 ＄1.000000 额度', 'Redeemed a code: $1.000000'],
  [
    '渠道「主力」（#7）已被自动禁用：HTTP 401',
    'Channel “主力” (#7) was disabled automatically: HTTP 401',
  ],
  ['老板送的 500 点额度', '老板送的 500 点额度'],
  ['', ''],
]

const inEnglish = i18n.createInstance()
const inChinese = i18n.createInstance()

beforeAll(async () => {
  const options = {
    fallbackLng: false as const,
    keySeparator: false as const,
    nsSeparator: false as const,
    interpolation: { escapeValue: false },
  }
  await inEnglish.init({ ...options, lng: 'en', resources: { en: { translation: english } } })
  await inChinese.init({ ...options, lng: 'zh' })
})

test.each(told)('%s', (stored, shown) => {
  expect(contentText(stored, inEnglish.t)).toBe(shown)
  expect(contentText(stored, inChinese.t)).toBe(stored)
})
