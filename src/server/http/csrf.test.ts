import { describe, expect, test } from 'vitest'
import { isCrossSite, type OriginHeaders } from './csrf.ts'

const HOST = 'gate.example:3000'
const OWN = 'http://gate.example:3000'
const EVIL = 'https://evil.example'
const none: ReadonlySet<string> = new Set()

const from = (headers: OriginHeaders, method = 'POST', own = none): boolean =>
  isCrossSite({ host: HOST, ...headers }, method, own)

describe('a call that changes state with a cookie', () => {
  test.each<[string, OriginHeaders]>([
    ['no browser at all', {}],
    ['our own page', { origin: OWN, 'sec-fetch-site': 'same-origin' }],
    ['our own page, older browser', { origin: OWN }],
    ['our own page, by its referer', { referer: `${OWN}/token` }],
    ['an address typed in', { 'sec-fetch-site': 'none' }],
    ['our host over TLS, behind a proxy', { origin: `https://${HOST}` }],
    [
      'our own page, as the browser says, behind a proxy that drops the port',
      { origin: OWN, 'sec-fetch-site': 'same-origin', host: 'gate.example' },
    ],
    [
      'a page on the port that is named in one place only',
      { origin: 'https://g.x', host: 'g.x:443' },
    ],
    ['a host that a proxy writes in capitals', { origin: 'https://g.x', host: 'G.X' }],
  ])('passes from %s', (_from, headers) => {
    expect(from(headers)).toBe(false)
  })

  test.each<[string, OriginHeaders]>([
    ['another site', { 'sec-fetch-site': 'cross-site', origin: EVIL }],
    ['another site, older browser', { origin: EVIL }],
    ['another site, by its referer only', { referer: `${EVIL}/page` }],
    ['a neighbour under the same domain', { 'sec-fetch-site': 'same-site' }],
    ['another port of the same host', { origin: 'http://gate.example:4000' }],
    ['a sandboxed frame', { origin: 'null' }],
    ['a site that begins like ours', { origin: `${OWN}.evil.example` }],
    ['a site that has our name as its user', { referer: `https://${HOST}@evil.example/` }],
    ['a header that is no address', { origin: 'nonsense' }],
    ['a page on another port, older browser', { origin: 'https://g.x:8443', host: 'g.x' }],
    ['another site, whatever it says of itself', { origin: EVIL, 'sec-fetch-site': 'same-origin' }],
    ['the port of the other protocol', { origin: 'https://g.x', host: 'g.x:80' }],
    ['a host that is none', { origin: 'https://g.x', host: 'g.x:x' }],
    ['two headers that disagree', { origin: OWN, referer: `${EVIL}/x` }],
    ['a browser that says cross-site whatever else', { 'sec-fetch-site': 'cross-site' }],
    ['a value that browsers do not have', { 'sec-fetch-site': 'Same-Origin' }],
  ])('is refused from %s', (_from, headers) => {
    expect(from(headers)).toBe(true)
  })

  test('passes from an origin that the operator named, also across sites', () => {
    const own = new Set(['https://console.example'])
    const headers = { origin: 'https://console.example', 'sec-fetch-site': 'cross-site' }
    expect(from(headers, 'POST', own)).toBe(false)
    expect(from({ ...headers, origin: 'http://console.example' }, 'POST', own)).toBe(true)
  })
})

describe('a GET that changes state', () => {
  const PAGE = 'text/html,application/xhtml+xml'

  test.each<[string, OriginHeaders, boolean]>([
    ['a script of ours', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }, false],
    ['no browser', { accept: '*/*' }, false],
    ['a link on our own page', { 'sec-fetch-mode': 'navigate', referer: `${OWN}/x` }, false],
    ['a link anywhere, without a referer', { 'sec-fetch-mode': 'navigate' }, true],
    ['the same in an older browser', { accept: PAGE }, true],
    ['a link on another site', { accept: PAGE, referer: `${EVIL}/x` }, true],
    ['a picture on another site', { 'sec-fetch-site': 'cross-site', accept: 'image/*' }, true],
    ['an address typed in', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, true],
  ])('from %s', (_from, headers, isRefused) => {
    expect(from(headers, 'GET')).toBe(isRefused)
  })
})
