import { describe, expect, test } from 'vitest'
import { isCrossSite, type OriginHeaders } from './csrf.ts'

const HOST = 'gate.example:3000'
const OWN = 'http://gate.example:3000'
const EVIL = 'https://evil.example'
const none: ReadonlySet<string> = new Set()

const from = (headers: OriginHeaders, method = 'POST', own = none): boolean =>
  isCrossSite({ host: HOST, ...headers }, method, own)

describe('a state-changing request with a cookie', () => {
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
  ])('is accepted from %s', (_from, headers) => {
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
  ])('is rejected from %s', (_from, headers) => {
    expect(from(headers)).toBe(true)
  })

  test('is accepted from a configured origin, also cross-site', () => {
    const own = new Set(['https://console.example'])
    const headers = { origin: 'https://console.example', 'sec-fetch-site': 'cross-site' }
    expect(from(headers, 'POST', own)).toBe(false)
    expect(from({ ...headers, origin: 'http://console.example' }, 'POST', own)).toBe(true)
  })
})

describe('a state-changing GET', () => {
  const PAGE = 'text/html,application/xhtml+xml'
  /** Sent by Chromium for an image. */
  const IMAGE = 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8'
  /** Sent by One API's consoles through axios. */
  const JSON_FIRST = 'application/json, text/plain, */*'
  const browser = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Chrome/150.0.0.0' }
  /** A script on our own page, over TLS or on loopback. */
  const script = {
    ...browser,
    'sec-fetch-site': 'same-origin',
    'sec-fetch-mode': 'cors',
    'sec-fetch-dest': 'empty',
  }

  test.each<[string, OriginHeaders]>([
    ['a script on our own page', script],
    ['the same without Sec-Fetch-Dest', { ...script, 'sec-fetch-dest': undefined }],
    ['the same over plain HTTP', { ...browser, accept: JSON_FIRST, referer: `${OWN}/x` }],
    ['a program', { accept: '*/*' }],
    ['a program with a name', { 'user-agent': 'python-requests/2.32', accept: JSON_FIRST }],
    ['fetch of Node', { 'user-agent': 'node', 'sec-fetch-mode': 'cors', accept: '*/*' }],
  ])('is accepted from %s', (_from, headers) => {
    expect(from(headers, 'GET')).toBe(false)
  })

  test('is accepted from a console on a configured origin', () => {
    const origin = 'https://console.example'
    const headers = { ...script, 'sec-fetch-site': 'cross-site', origin }
    expect(from(headers, 'GET', new Set([origin]))).toBe(false)
  })

  test.each<[string, OriginHeaders]>([
    [
      'an image on our own page',
      { ...script, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image', referer: `${OWN}/x` },
    ],
    ['the same over plain HTTP', { ...browser, accept: IMAGE, referer: `${OWN}/x` }],
    [
      'a link on our own page',
      { ...script, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', referer: OWN },
    ],
    ['a frame on our own page', { ...script, 'sec-fetch-dest': 'iframe', referer: OWN }],
    ['a link anywhere, without a referer', { 'sec-fetch-mode': 'navigate' }],
    ['the same in an older browser', { accept: PAGE }],
    ['a link on another site', { accept: PAGE, referer: `${EVIL}/x` }],
    ['an image on another site', { 'sec-fetch-site': 'cross-site', accept: 'image/*' }],
    ['an address typed in', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }],
    // Browsers send no Sec-Fetch headers over plain HTTP, and pages can suppress Referer.
    ['an image on another port without a referer', { ...browser, accept: IMAGE }],
    ['a script on another port without a referer', { ...browser, accept: '*/*' }],
    ['an image on another port', { ...browser, referer: 'http://gate.example:4706/' }],
    ['a browser that does not say from where', { ...script, 'sec-fetch-site': 'none' }],
  ])('is rejected from %s', (_from, headers) => {
    expect(from(headers, 'GET')).toBe(true)
  })
})
