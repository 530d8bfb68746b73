import { expect, test } from 'vitest'
import { ChannelTypeNumber } from '../src/contract/channel-type-number.ts'
import { row } from '../src/contract/channel-type-row.ts'
import { channelTypeRows } from '../src/contract/channel-type-rows.ts'
import { vendors } from '../src/server/relay/vendors/list.ts'
import { contractRow, declaredVendors, rowsText } from './vendors.ts'

const declared = await declaredVendors()

test('the console’s channel types match the vendors’ declarations; if not, run npm run vendors', () => {
  expect(channelTypeRows).toEqual(declared.map(({ vendor }) => row(contractRow(vendor))))
  expect(ChannelTypeNumber).toEqual(
    Object.fromEntries(declared.map(({ name, vendor }) => [name, vendor.type])),
  )
})

test('every declaration is in the list of vendors; if not, run npm run vendors', () => {
  expect(vendors).toEqual(declared.map(({ vendor }) => vendor))
})

test('numbers and names of vendors are unique', () => {
  expect(new Set(vendors.map(({ type }) => type)).size).toBe(declared.length)
  expect(new Set(declared.map(({ name }) => name)).size).toBe(declared.length)
})

test('reports a function in a declaration where the console needs data', () => {
  const [first] = declared
  if (first === undefined) throw new Error('no vendor')
  // No type allows this, but a cast could cause it.
  const paths = { '/v1/x': () => '/x' } as unknown as Record<string, string>
  const broken = { ...first, vendor: { ...first.vendor, paths } }
  expect(() => rowsText([broken])).toThrow(`${first.name}.paths./v1/x`)
})
