import { expect, test } from 'vitest'
import { newTransactionId, topUpAddress, uuidOf } from './top-up-link.ts'

const payer = { id: 7, username: '张 三&x=1' }
const added = 'username=%E5%BC%A0+%E4%B8%89%26x%3D1&user_id=7&transaction_id=T'

test.each([
  ['https://pay.example', `https://pay.example/?${added}`],
  ['https://pay.example/buy?plan=a#top', `https://pay.example/buy?plan=a&${added}#top`],
  // An existing parameter of the same name is kept.
  ['http://pay.example/?user_id=0', `http://pay.example/?user_id=0&${added}`],
])('%s becomes %s', (link, address) => {
  expect(topUpAddress(link, payer, 'T')).toBe(address)
})

test.each(['', 'pay.example', 'javascript:alert(1)', 'data:text/html,x', '/relative'])(
  '"%s" is not a web address',
  (link) => {
    expect(topUpAddress(link, payer, 'T')).toBeNull()
  },
)

test('sixteen bytes make a UUID of version 4', () => {
  expect(uuidOf(new Uint8Array(16))).toBe('00000000-0000-4000-8000-000000000000')
  expect(uuidOf(new Uint8Array(16).fill(255))).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff')
  expect(newTransactionId()).not.toBe(newTransactionId())
})
