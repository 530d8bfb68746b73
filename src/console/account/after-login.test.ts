import { describe, expect, test } from 'vitest'
import type { PageRoute } from '../app/routing/pages.ts'
import { targetAfterLogin, hasDefaultPassword } from './after-login.ts'
import { profileErrors, toSelfUpdate, type ProfileForm } from './profile-form.ts'

const page = (path: string, access: PageRoute['access']): PageRoute => ({
  path,
  access,
  title: '',
  component: () => null,
})
const pages = [
  page('/', 'anyone'),
  page('/login', 'anyone'),
  page('/token', 'user'),
  page('/token/edit/$id', 'user'),
  page('/channel', 'admin'),
]
const user = { id: 1, username: 'a', display_name: '', role: 1, must_change_password: false }

describe('redirect after sign-in', () => {
  test.each([
    [undefined, '/token', {}],
    ['/token?page=3&order=used_quota', '/token', { page: '3', order: 'used_quota' }],
    ['/token/edit/7#x', '/token/edit/7', {}],
    ['/login', '/token', {}],
    ['/nowhere', '/token', {}],
    // Only paths within the console are allowed.
    ['//evil.example/token', '/token', {}],
    ['https://evil.example', '/token', {}],
  ])('from %s', (from, to, search) => {
    expect(targetAfterLogin(from, user, pages)).toEqual({ to, search })
  })

  test('does not redirect to a page above the user’s role', () => {
    expect(targetAfterLogin('/channel', user, pages).to).toBe('/token')
    expect(targetAfterLogin('/channel', { ...user, role: 10 }, pages).to).toBe('/channel')
  })
})

describe('the default password', () => {
  test.each([
    ['root', '123456', undefined, true],
    ['root', 'other-one', undefined, false],
    ['alice', '123456', undefined, false],
    ['alice', 'other-one', true, true],
  ])('%s / %s, server says %s', (username, password, serverSays, isDefault) => {
    expect(hasDefaultPassword({ username, password }, serverSays)).toBe(isDefault)
  })
})

describe('profile form', () => {
  const form: ProfileForm = {
    username: 'a',
    display_name: '',
    password: '',
    password2: '',
    old_password: '',
  }
  const usual = { mustChange: false, hasExternalSignIn: false }
  const wrong = (change: Partial<ProfileForm>, at = usual) => [
    ...profileErrors({ ...form, ...change }, at).keys(),
  ]

  test('requires no password fields while the password stays the same', () => {
    expect(wrong({})).toEqual([])
    expect(wrong({ username: ' ' })).toEqual(['username'])
  })

  test('a new password must be long enough, repeated, and confirmed by the old one', () => {
    expect(wrong({ password: 'short' })).toEqual(['password', 'old_password'])
    expect(wrong({ password: 'longenough', password2: 'other' })).toEqual([
      'password2',
      'old_password',
    ])
    const whole = { password: 'longenough', password2: 'longenough', old_password: 'x' }
    expect(wrong(whole)).toEqual([])
  })

  test('counts the length of a password in characters, not UTF-16 units', () => {
    const password = '密码密码密码密😀'
    expect(wrong({ password, password2: password, old_password: 'x' })).toEqual([])
  })

  test('does not require the old password with an external sign-in', () => {
    const change = { password: 'longenough', password2: 'longenough' }
    expect(wrong(change, { ...usual, hasExternalSignIn: true })).toEqual([])
  })

  test('requires a new password while the default password is in use', () => {
    expect(wrong({}, { ...usual, mustChange: true })).toEqual(['password', 'old_password'])
  })

  test('sends only changed fields', () => {
    expect(toSelfUpdate({ ...form, display_name: ' b ', old_password: 'x' }, form)).toEqual({
      display_name: 'b',
    })
    expect(toSelfUpdate({ ...form, username: 'c' }, form)).toEqual({ username: 'c' })
    expect(toSelfUpdate({ ...form, password: 'longenough', old_password: 'x' }, form)).toEqual({
      password: 'longenough',
      old_password: 'x',
    })
  })

  // On the wire an empty display name means unchanged, so saving one would have no effect.
  test('replaces an emptied display name with the username', () => {
    const seen = { ...form, display_name: 'A' }
    expect(toSelfUpdate({ ...seen, display_name: ' ' }, seen)).toEqual({ display_name: 'a' })
  })
})
