import { expect, test } from 'vitest'
import { isNewer, toRelease } from './release.ts'

test.each([
  ['v0.2.0', 'v0.1.0', true],
  ['v0.1.1', 'v0.1.0', true],
  ['v0.10.0', 'v0.9.9', true],
  ['1.0.0', 'v0.9.0', true],
  ['v1.0', 'v0.9.0', true],
  ['v0.1.0', 'v0.1.0', false],
  ['v0.1.0', 'v0.2.0', false],
  ['v1.0.0', 'v1.0.0-rc.1', true],
  ['v1.0.0-rc.1', 'v1.0.0', false],
  ['nightly', 'v0.1.0', false],
])('%s after %s: %s', (tag, current, expected) => {
  expect(isNewer(tag, current)).toBe(expected)
})

test('only known members of a response are passed on, and only as text', () => {
  const said = {
    tag_name: 'v9.0.0',
    name: 7,
    body: 'n'.repeat(100_001),
    html_url: 'javascript:alert(1)',
    published_at: '2030-01-01T00:00:00Z',
    author: { login: 'somebody' },
  }
  expect(toRelease(said, 'v0.1.0')).toEqual({
    tag_name: 'v9.0.0',
    name: '',
    body: 'n'.repeat(100_000),
    html_url: '',
    published_at: '2030-01-01T00:00:00Z',
    current: 'v0.1.0',
    is_newer: true,
  })
})

test.each([null, {}, { tag_name: '' }, { tag_name: 3 }])('%j is no release', (said) => {
  expect(toRelease(said, 'v0.1.0')).toBeNull()
})
