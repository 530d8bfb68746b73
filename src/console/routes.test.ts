import { describe, expect, test } from 'vitest'
import { ROOT_PAGES, VISITOR_PAGES } from '../../e2e/page-list.ts'
import { pageAt } from './app/routing/pages.ts'
import { paths } from './paths.ts'
import { pages } from './routes.tsx'

describe('page of a path', () => {
  test.each([
    ['/', '/'],
    ['/token', '/token'],
    ['/token/', '/token'],
    ['/token/add', '/token/add'],
    ['/token/edit/7', '/token/edit/$id'],
    // The profile, not a user with a missing id.
    ['/user/edit', '/user/edit'],
  ])('%s', (path, pattern) => {
    expect(pageAt(path, pages)?.path).toBe(pattern)
  })

  test.each(['/nowhere', '/token/edit', '/token/edit/7/8'])('%s is not a page', (path) => {
    expect(pageAt(path, pages)).toBeNull()
  })
})

test('every page has a unique path', () => {
  expect(new Set(pages.map(({ path }) => path)).size).toBe(pages.length)
})

test('the menu entry of a page exists', () => {
  const entries = pages.filter(({ inMenu }) => inMenu === true).map(({ path }) => path)
  const parents = pages.flatMap(({ under }) => (under === undefined ? [] : [under]))
  expect(parents.filter((path) => !entries.includes(path))).toEqual([])
})

test('the browser tests for all pages include every page', () => {
  // These redirect immediately; oauth.e2e.ts and sign-in-providers.e2e.ts test them.
  const passing: string[] = [
    paths.oauthGithub,
    paths.oauthLark,
    paths.oauthOidc,
    paths.oauthLinuxdo,
    paths.oauthDiscord,
    paths.oauthNamed,
  ]
  const seen = [...VISITOR_PAGES, ...ROOT_PAGES].map(
    ({ path }) => pageAt(path.split('?')[0] ?? '', pages)?.path,
  )
  const unseen = pages.filter(({ path }) => !seen.includes(path)).map(({ path }) => path)
  expect(unseen.filter((path) => !passing.includes(path))).toEqual([])
})
