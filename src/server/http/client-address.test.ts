import { describe, expect, test } from 'vitest'
import {
  addressKey,
  clientAddress,
  isHttps,
  isTrustedProxy,
  parseTrustedProxies,
} from './client-address.ts'

const nobody = parseTrustedProxies([])
const proxies = parseTrustedProxies(['10.0.0.0/8', '192.168.1.5', '2001:db8::/32', '::1'])

describe('the client address', () => {
  test.each([
    ['the peer’s', '203.0.113.9', undefined, '203.0.113.9'],
    ['the peer’s, mapped', '::ffff:203.0.113.9', undefined, '203.0.113.9'],
    ['the peer’s, IPv6', '2606:4700::1', undefined, '2606:4700::1'],
    ['the peer’s, whatever it claims', '203.0.113.9', '1.2.3.4', '203.0.113.9'],
    ['empty without a peer', undefined, '1.2.3.4', ''],
  ])('is %s, without trusted proxies', (_what, peer, forwarded, address) => {
    expect(clientAddress(peer, forwarded, nobody)).toBe(address)
  })

  test.each([
    ['what the proxy saw', '10.0.0.1', '1.2.3.4', '1.2.3.4'],
    ['the last of what it saw', '10.0.0.1', '6.6.6.6, 1.2.3.4', '1.2.3.4'],
    ['behind two proxies', '10.0.0.1', '6.6.6.6, 1.2.3.4, 192.168.1.5', '1.2.3.4'],
    ['by a mapped proxy', '::ffff:10.0.0.1', '1.2.3.4', '1.2.3.4'],
    ['by an IPv6 proxy', '2001:db8::7', '2606:4700::1', '2606:4700::1'],
    ['a mapped client', '10.0.0.1', '::ffff:1.2.3.4', '1.2.3.4'],
    ['the proxy’s own, when it says nothing', '10.0.0.1', undefined, '10.0.0.1'],
    ['the proxy’s own, when it says nonsense', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['the last proxy’s, when a hop is nonsense', '10.0.0.1', '1.2.3.4, x, 10.0.0.2', '10.0.0.2'],
    ['the first proxy’s, when all are proxies', '10.0.0.1', '10.0.0.9, 10.0.0.8', '10.0.0.9'],
    ['not what others claim', '203.0.113.9', '1.2.3.4', '203.0.113.9'],
    ['not the neighbour of a proxy', '192.168.1.6', '1.2.3.4', '192.168.1.6'],
    ['without its port', '10.0.0.1', '6.6.6.6, 1.2.3.4:4711, 10.0.0.2:80', '1.2.3.4'],
    ['without its port, IPv6', '10.0.0.1', '[2606:4700::1]:4711', '2606:4700::1'],
    ['without brackets', '10.0.0.1', '[2606:4700::1]', '2606:4700::1'],
    ['with spaces around', '10.0.0.1', '  1.2.3.4  ', '1.2.3.4'],
  ])('is %s', (_what, peer, forwarded, address) => {
    expect(clientAddress(peer, forwarded, proxies)).toBe(address)
  })

  test('is found behind a thousand hops', () => {
    const forwarded = Array.from({ length: 1000 }, () => '10.0.0.1').join(', ')
    expect(clientAddress('10.0.0.1', `6.6.6.6, ${forwarded}`, proxies)).toBe('6.6.6.6')
  })
})

test('an invalid list of proxies stops startup', () => {
  expect(() => parseTrustedProxies(['10.0.0.0/8', 'nonsense'])).toThrow('ipaddr')
  expect(() => parseTrustedProxies(['10.0.0.0/99'])).toThrow('ipaddr')
})

test('a proxy is recognized by its address', () => {
  expect(isTrustedProxy('::ffff:10.1.1.1', proxies)).toBe(true)
  expect(isTrustedProxy('11.1.1.1', proxies)).toBe(false)
  expect(isTrustedProxy(undefined, proxies)).toBe(false)
})

test('a block of mapped addresses is an IPv4 block', () => {
  const mapped = parseTrustedProxies(['::ffff:127.0.0.0/104'])
  expect(isTrustedProxy('127.0.0.1', mapped)).toBe(true)
  expect(isTrustedProxy('::ffff:127.9.9.9', mapped)).toBe(true)
  expect(isTrustedProxy('128.0.0.1', mapped)).toBe(false)
})

test.each([
  ['https', true],
  ['HTTPS', true],
  ['https, http', true],
  ['http, https', false],
  ['http', false],
  ['', false],
  [undefined, false],
])('a request came over TLS, by the proxies’ header: %j is %j', (told, isSecure) => {
  expect(isHttps(told)).toBe(isSecure)
})

describe('limits count', () => {
  test.each([
    ['an IPv4 address by itself', '203.0.113.9', '203.0.113.9'],
    ['an IPv6 customer by the network', '2001:db8:1:2:aaaa::1', '2001:db8:1:2'],
    ['the same customer alike', '2001:db8:1:2:ffff:1:2:3', '2001:db8:1:2'],
    ['the next customer apart', '2001:db8:1:3::1', '2001:db8:1:3'],
    ['a short spelling in full', '::1', '0:0:0:0'],
    ['what is no address as it stands', 'x:y', 'x:y'],
  ])('%s', (_what, address, key) => {
    expect(addressKey(address)).toBe(key)
  })
})
