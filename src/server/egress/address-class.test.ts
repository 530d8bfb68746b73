import { describe, expect, test } from 'vitest'
import { addressClass } from './address-class.ts'

const list = (text: string): string[] => text.trim().split(/\s+/)

describe('an address is', () => {
  test.each(
    list(`
      8.8.8.8 1.1.1.1 11.0.0.1 9.255.255.255 172.32.0.1 100.63.255.255 100.128.0.1
      2606:4700::1111 2a00::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1
    `),
  )('public: %s', (address) => {
    expect(addressClass(address)).toBe('public')
  })

  // A local model or a host in the operator's own network.
  test.each(
    list(`
      10.0.0.1 10.255.255.255 127.0.0.1 127.255.255.254 172.16.0.1 172.31.255.255
      192.168.1.1 100.64.0.1 100.127.255.255
      ::1 fc00::1 fd12:3456::1 fec0::1
      ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 ::127.0.0.1 ::7f00:1
      64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b:1:a9fe:a9:fe00:808:808
      2002:7f00:1:: 2002:a00:1::1
    `),
  )('private: %s', (address) => {
    expect(addressClass(address)).toBe('private')
  })

  test.each(
    list(`
      169.254.169.254 169.254.0.1 169.254.170.2 100.100.100.200 192.0.0.192 fd00:ec2::254
      168.63.129.16 ::ffff:168.63.129.16
      fd00:c1::a9fe:a9fe fd20:ce::254 ::ffff:0:a9fe:a9fe
      fe80::1 fe80::1%eth0
      ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::ffff:100.100.100.200 ::169.254.169.254
      64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1
    `),
  )('forbidden, because clouds serve credentials there: %s', (address) => {
    expect(addressClass(address)).toBe('forbidden')
  })

  test.each(
    list(`
      0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0 64:ff9b::0.0.0.0 100::1
      255.255.255.255 240.0.0.1 224.0.0.1 239.255.255.250 ff02::1
    `),
  )('forbidden, because it is no single host: %s', (address) => {
    expect(addressClass(address)).toBe('forbidden')
  })

  // Names and ambiguous spellings; only plain addresses reach this function.
  test.each([
    '',
    ...list(`
      localhost example.com 127.0.0.1. 1.2.3 256.1.1.1 127.0.0.1:80 :::
      0177.0.0.1 0x7f000001 2130706433 010.0.0.1
    `),
  ])('forbidden, because it is not an address: %j', (text) => {
    expect(addressClass(text)).toBe('forbidden')
  })

  test.each(
    list(`
      192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.1 192.88.99.1 192.0.0.8
      2001:db8::1 2001::1 2001:2::1 2001:10::1 2001:20::1 3fff::1 5f00::1 64:ff9b:1::1
    `),
  )('never public, for documentation and special purposes: %s', (address) => {
    expect(addressClass(address)).not.toBe('public')
  })
})
