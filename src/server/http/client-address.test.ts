import { describe, expect, test } from 'vitest'
import { addressKey, clientAddress, parseTrustedProxies } from './client-address.ts'

describe('clientAddress', () => {
  const proxies = ['10.0.0.0/8', '2001:db8::1']

  test.each<[string, string | undefined, string | undefined, string]>([
    ['nobody between', '203.0.113.9', undefined, '203.0.113.9'],
    ['an IPv4 address in IPv6 spelling', '::ffff:203.0.113.9', undefined, '203.0.113.9'],
    // Whoever is not trusted may write what it likes into the header.
    ['a stranger that names another', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['a trusted proxy', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a trusted proxy by IPv6', '2001:db8::1', '198.51.100.1', '198.51.100.1'],
    ['two trusted proxies', '10.0.0.1', '198.51.100.1, 10.0.0.2', '198.51.100.1'],
    ['a client that made up a hop', '10.0.0.1', '192.0.2.1, 198.51.100.1', '198.51.100.1'],
    ['a hop that is no address', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['a hop with a port', '10.0.0.1', '198.51.100.1:4711', '10.0.0.1'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['trusted proxies only', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['a socket that is gone', undefined, '198.51.100.1', ''],
  ])('%s', (_what, peer, forwardedFor, expected) => {
    expect(clientAddress(peer, forwardedFor, parseTrustedProxies(proxies))).toBe(expected)
  })

  test('without trusted proxies the header says nothing', () => {
    expect(clientAddress('10.0.0.1', '198.51.100.1', [])).toBe('10.0.0.1')
  })

  test('a list with a mistake is refused as a whole', () => {
    expect(() => parseTrustedProxies(['10.0.0.0/8', 'proxy.example'])).toThrow()
  })
})

test.each([
  ['203.0.113.9', '203.0.113.9'],
  // One customer has a whole /64 and could take a new address for each call.
  ['2001:db8:1:2:aaaa::1', '2001:db8:1:2'],
  ['2001:db8:1:2:bbbb::2', '2001:db8:1:2'],
  ['2001:db8:1:3::1', '2001:db8:1:3'],
  ['', ''],
  ['no:address', 'no:address'],
])('addressKey(%j)', (address, expected) => {
  expect(addressKey(address)).toBe(expected)
})
