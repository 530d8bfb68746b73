import { expect, test } from 'vitest'
import { addressesIn, addressTrouble } from './postgres-address.ts'

test('several hosts become one address each', () => {
  const dsn =
    'postgres://u:p%40w@h1:5432,h2:6432,h3/db?sslmode=disable&target_session_attrs=primary'
  expect(addressesIn(dsn)).toEqual([
    'postgres://u:p%40w@h1:5432/db?sslmode=disable',
    'postgres://u:p%40w@h2:6432/db?sslmode=disable',
    'postgres://u:p%40w@h3/db?sslmode=disable',
  ])
  expect(addressesIn('postgresql://h1,h2/db?target_session_attrs=read-write')).toEqual([
    'postgresql://h1/db',
    'postgresql://h2/db',
  ])
})

test('one host stays as it is', () => {
  for (const dsn of ['postgres://u:p@h/db', 'postgres://u:a,b@h:1/db?a=b,c', 'postgres://h']) {
    expect(addressesIn(dsn)).toEqual([dsn])
    expect(addressTrouble(dsn)).toBeNull()
  }
})

test('a DSN that cannot work is refused', () => {
  expect(addressTrouble('postgres://h1,h2/db?target_session_attrs=standby')).toContain('read-write')
  expect(addressTrouble('postgres://h1:x,h2/db')).toContain('hosts')
})
