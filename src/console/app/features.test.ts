import { expect, test } from 'vitest'
import { FEATURES } from '../../contract/features.ts'

const sources = Object.values(
  import.meta.glob<string>(['../**/*.{ts,tsx}', '!../**/*.test.{ts,tsx}'], {
    query: '?raw',
    import: 'default',
    eager: true,
  }),
)

test.each(FEATURES)('the console checks for the feature %s', (feature) => {
  expect(sources.filter((text) => text.includes(`('${feature}')`))).not.toEqual([])
})
