import { describe, expect, test } from 'vitest'
import { answeredHeaders, proxyCallOf, proxyHeaders, proxyUrl } from './proxy-place.ts'

const BASE = 'https://api.example.com/root'

describe('the target of a proxied call', () => {
  test.each([
    ['/v1/chat', 'https://api.example.com/root/v1/chat'],
    ['/v1/chat/?a=b%20c&a=../x', 'https://api.example.com/root/v1/chat/?a=b%20c&a=../x'],
    ['/a%20b/%E5%9B%9B', 'https://api.example.com/root/a%20b/%E5%9B%9B'],
    ['/a..b/...', 'https://api.example.com/root/a..b/...'],
    ['/@other.example', 'https://api.example.com/root/@other.example'],
    ['/100%25/a%2525b', 'https://api.example.com/root/100%25/a%2525b'],
    ['/https://other.example/a', 'https://api.example.com/root/https://other.example/a'],
    ['/', 'https://api.example.com/root/'],
  ])('%s', (path, url) => {
    expect(proxyUrl(BASE, path)).toBe(url)
    expect(proxyUrl(`${BASE}///`, path)).toBe(url)
  })

  test.each([
    '/../secret',
    '/a/../../secret',
    '/..',
    '/./a',
    '/%2e%2e/secret',
    '/%2E%2e%2fsecret',
    '/%252e%252e/secret',
    '/%25252e%25252e/secret',
    '/..;/secret',
    '/a\\..\\secret',
    '/%5c..%5csecret',
    '//other.example/a',
    '/%25/%252e%252e/secret',
    '/%25%32%65%25%32%65/secret',
    '/a//../../secret',
    '/%25ff',
    '/%2f/other.example',
    '/a%0d%0aX-Injected:%201',
    '/a%00',
    '/a b',
    '/a?x=\u0007',
    '/%zz',
    '/%ff',
  ])('%s is none', (path) => {
    expect(proxyUrl(BASE, path)).toBeNull()
  })

  test('is null without a path', () => {
    expect(proxyUrl('', '/a')).toBeNull()
    expect(proxyUrl('nonsense', '/a')).toBeNull()
  })

  test('is read from the original URL', () => {
    expect(proxyCallOf('/v1/oneapi/proxy/12/a/b/?x=1')).toEqual({
      channelId: '12',
      path: '/a/b/?x=1',
    })
    expect(proxyCallOf('/v1/oneapi/proxy/12')).toEqual({ channelId: '12', path: '/' })
    expect(proxyCallOf('/v1/oneapi/proxy/12?x=1/2')).toEqual({ channelId: '12', path: '/?x=1/2' })
    expect(proxyCallOf('/v1/oneapi/proxyx/12')).toBeNull()
    expect(proxyCallOf('/v1/models')).toBeNull()
  })
})

test('passes no headers of this server or of the connection upstream', () => {
  const headers = {
    host: 'gateway',
    authorization: 'Bearer sk-ours',
    'x-api-key': 'ours',
    cookie: 'session=ours',
    connection: 'keep-alive, X-Hop',
    'x-hop': '1',
    'x-forwarded-for': '10.0.0.1',
    'x-real-ip': '10.0.0.1',
    'cf-connecting-ip': '10.0.0.1',
    'sec-fetch-site': 'same-origin',
    'content-encoding': 'gzip',
    'content-length': '5',
    'transfer-encoding': 'chunked',
    'x-gatehouse-cost': '1',
    'content-type': 'text/plain',
    'x-own': 'kept',
    'anthropic-beta': 'kept',
  }
  expect(proxyHeaders(headers, 'Key stored-as-it-is')).toEqual({
    authorization: 'Key stored-as-it-is',
    'accept-encoding': 'identity',
    'content-type': 'text/plain',
    'x-own': 'kept',
    'anthropic-beta': 'kept',
  })
})

test('passes only response headers that describe the body', () => {
  const headers = {
    'content-type': 'text/plain',
    etag: '"a"',
    'set-cookie': ['a=b'],
    location: 'https://upstream',
    'access-control-allow-origin': '*',
    'x-request-id': 'theirs',
  }
  const passed = ['content-type', 'text/plain', 'etag', '"a"']
  expect(answeredHeaders(headers)).toEqual([...passed, 'cache-control', 'private'])
})

// Otherwise a cache in front would serve the response to callers without a key.
test.each([
  ['max-age=60', 'private, max-age=60'],
  ['public, max-age=60, s-maxage=600', 'private, max-age=60'],
  ['max-age=0, must-revalidate', 'private, max-age=0, must-revalidate'],
  ['private, max-age=60', 'private, max-age=60'],
  ['no-store', 'no-store'],
  ['private="set-cookie", max-age=9', 'private, private="set-cookie", max-age=9'],
])('a response cached with %s is the client’s own: %s', (said, told) => {
  expect(answeredHeaders({ 'cache-control': said })).toEqual(['cache-control', told])
})
