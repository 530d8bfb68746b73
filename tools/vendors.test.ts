import { expect, test } from 'vitest'
import { ChannelTypeNumber } from '../src/contract/channel-type-number.ts'
import { row } from '../src/contract/channel-type-row.ts'
import { channelTypeRows } from '../src/contract/channel-type-rows.ts'
import { vendors } from '../src/server/relay/vendors/list.ts'
import { contractRow, declaredVendors, rowsText } from './vendors.ts'

const declared = await declaredVendors()

test('what the console knows of channel types is what the vendors declare; if not, npm run vendors', () => {
  expect(channelTypeRows).toEqual(declared.map(({ vendor }) => row(contractRow(vendor))))
  expect(ChannelTypeNumber).toEqual(
    Object.fromEntries(declared.map(({ name, vendor }) => [name, vendor.type])),
  )
})

test('every declaration is in the list of vendors; if not, npm run vendors', () => {
  expect(vendors).toEqual(declared.map(({ vendor }) => vendor))
})

test('no two vendors have the same number or name', () => {
  expect(new Set(vendors.map(({ type }) => type)).size).toBe(declared.length)
  expect(new Set(declared.map(({ name }) => name)).size).toBe(declared.length)
})

test('a declaration with a function where the console needs data is reported', () => {
  const [first] = declared
  if (first === undefined) throw new Error('no vendor')
  // No type allows it: this is what a cast could do.
  const paths = { '/v1/x': () => '/x' } as unknown as Record<string, string>
  const broken = { ...first, vendor: { ...first.vendor, paths } }
  expect(() => rowsText([broken])).toThrow(`${first.name}.paths./v1/x`)
})
