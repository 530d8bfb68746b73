import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const CONSOLE = join(import.meta.dirname, '..', 'src/console')
const sheet = (path: string): string => `\n${readFileSync(join(CONSOLE, path), 'utf8')}`
const tokens = sheet('app/shell/tokens.css')
const styles = sheet('dashboard/dashboard.module.css')

/** Minimum distance in OKLab at which neighbouring colours of a chart are distinguishable. */
const APART = 0.09

type Color = [number, number, number]

/** Converts a colour to OKLab as CSS Color 4 defines it. */
function oklab(hex: string): Color {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ]
}

const distance = (one: string, other: string): number => {
  const [a, b] = [oklab(one), oklab(other)]
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])
}

/** Colours that the rule with this selector sets, by name. */
const colorsOf = (css: string, selector: string, name: string): [string, string][] => {
  const begin = css.indexOf(`\n${selector} {`)
  const rule = begin < 0 ? '' : css.slice(begin, css.indexOf('\n}', begin))
  const found = rule.matchAll(new RegExp(`--(${name}): (#\\w{6})`, 'g'))
  return [...found].map(([, key = '', color = '']) => [key, color])
}

const DARK = "[data-mantine-color-scheme='dark']"

test.each([
  ['light', 'default', ':root', ['.parts']],
  ['light', 'berry', "[data-accent='berry']", ['.parts']],
  ['light', 'air', "[data-accent='air']", ['.parts']],
  ['dark', 'default', DARK, ['.parts', `${DARK} .parts`]],
  ['dark', 'berry', `${DARK}[data-accent='berry']`, ['.parts', `${DARK} .parts`]],
  [
    'dark',
    'air',
    `${DARK}[data-accent='air']`,
    ['.parts', `${DARK} .parts`, `${DARK}[data-accent='air'] .parts`],
  ],
])(
  'each series of a chart can be told from its neighbours: %s, %s',
  (_scheme, _theme, accent, rules) => {
    const own = rules.flatMap((rule) => colorsOf(styles, rule, String.raw`series-\w+`))
    const [first = ['', '']] = colorsOf(tokens, accent, 'accent')
    const colors = [first[1], ...new Map(own).values()]
    expect(colors).toHaveLength(7)
    const steps = colors.slice(1).map((color, index) => distance(colors[index] ?? '', color))
    expect(Math.min(...steps)).toBeGreaterThan(APART)
  },
)
