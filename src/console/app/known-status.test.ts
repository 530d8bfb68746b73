import { describe, expect, test } from 'vitest'
import { toKnownStatus } from './known-status.ts'

const gatehouse = {
  options_min_role: 10,
  features: ['prices'],
  theme: 'berry',
  turnstile_url: 'https://challenges.cloudflare.com',
}
const stored = {
  version: 'v1',
  system_name: 'Gate',
  logo: '',
  footer_html: '<b>foot</b>',
  chat_link: 'https://chat.example',
  email_verification: true,
  quota_per_unit: 1000,
  display_in_currency: false,
  gatehouse,
}

describe('stored status', () => {
  test('is read as it was written', () => {
    expect(toKnownStatus(stored)).toEqual(stored)
  })

  test('drops sign-in providers that it could not show', () => {
    const corp = { provider: 'oidc/corp', title: 'Corp', icon: 'C', color: '' }
    const sent = [corp, { ...corp, provider: 'nobody' }, { ...corp, title: 5 }, null]
    expect(
      toKnownStatus({ gatehouse: { ...gatehouse, sign_in_providers: sent } }).gatehouse,
    ).toEqual({ ...gatehouse, sign_in_providers: [corp] })
  })

  test('keeps the known members of a One API console’s status', () => {
    const { gatehouse: _ours, ...theirs } = stored
    expect(toKnownStatus({ ...theirs, docs_link: 'https://docs.example' })).toEqual(theirs)
  })

  test.each([
    ['quota_per_unit', 'many'],
    ['quota_per_unit', null],
    ['quota_per_unit', 0],
    ['quota_per_unit', -5],
    ['display_in_currency', 'false'],
    ['system_name', { a: 1 }],
    ['version', {}],
    ['logo', 5],
    ['footer_html', ['x']],
    ['chat_link', 5],
    ['gatehouse', 'v1'],
    ['gatehouse', null],
    ['gatehouse', { ...gatehouse, features: {} }],
    ['gatehouse', { ...gatehouse, options_min_role: '1' }],
  ])('drops %s if it is %j', (name, value) => {
    const { [name as 'gatehouse']: _broken, ...rest } = stored
    expect(toKnownStatus({ ...stored, [name]: value })).toEqual(rest)
  })

  test('is empty if the stored value is invalid', () => {
    expect(toKnownStatus(null)).toEqual({})
  })
})
