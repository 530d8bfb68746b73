import { expect, test } from 'vitest'
import { optionGroupIds } from './option-groups.ts'
import { optionKeys, optionRows } from './options.ts'

test('every form of the settings has options, and titles of options are unique', () => {
  const rows = optionKeys.map((key) => optionRows[key])
  expect(optionGroupIds.filter((id) => !rows.some(({ group }) => group === id))).toEqual([])
  for (const language of ['zh', 'en'] as const) {
    const titles = rows.map(({ title }) => title[language])
    expect(titles.filter((title, at) => titles.indexOf(title) !== at)).toEqual([])
  }
})
