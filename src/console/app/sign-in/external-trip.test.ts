import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { authorizeAddress } from './external-trip.ts'

/** A One API server sends no address, so the console builds the same one as One API's console. */

beforeAll(() => vi.stubGlobal('document', { baseURI: 'https://gate.example/sub/' }))
afterAll(() => vi.unstubAllGlobals())

const members = (address: string) => {
  const url = new URL(address)
  return { page: url.origin + url.pathname, ...Object.fromEntries(url.searchParams) }
}

test('GitHub', () => {
  expect(members(authorizeAddress('github', 'st', { github_client_id: 'id' }))).toEqual({
    page: 'https://github.com/login/oauth/authorize',
    client_id: 'id',
    state: 'st',
    scope: 'user:email',
  })
})

test('Lark redirects to the path where the console is served', () => {
  expect(members(authorizeAddress('lark', 'st', { lark_client_id: 'id' }))).toEqual({
    page: 'https://open.feishu.cn/open-apis/authen/v1/index',
    app_id: 'id',
    state: 'st',
    redirect_uri: 'https://gate.example/sub/oauth/lark',
  })
})

test('OpenID Connect keeps the query of the configured address', () => {
  const status = {
    oidc_client_id: 'id',
    oidc_authorization_endpoint: 'https://login.example/authorize?tenant=a',
  }
  expect(members(authorizeAddress('oidc', 'st', status))).toEqual({
    page: 'https://login.example/authorize',
    tenant: 'a',
    client_id: 'id',
    response_type: 'code',
    scope: 'openid profile email',
    state: 'st',
    redirect_uri: 'https://gate.example/sub/oauth/oidc',
  })
})
