import styles from './marks.module.css'

/** Hues of group tags, in the order that the hash counts them. */
export const groupHues = [
  'amber',
  'blue',
  'cyan',
  'green',
  'grey',
  'indigo',
  'light-blue',
  'lime',
  'orange',
  'pink',
  'purple',
  'red',
  'teal',
  'violet',
  'yellow',
] as const
export type GroupHue = (typeof groupHues)[number]

const fixedHues = new Map<string, GroupHue>([
  ['vip', 'yellow'],
  ['pro', 'yellow'],
  ['svip', 'red'],
  ['premium', 'red'],
])

/** The same group has the same colour everywhere: by name, else by the sum of its UTF-16 units. */
export function groupHue(name: string): GroupHue {
  let sum = 0
  for (let i = 0; i < name.length; i += 1) sum += name.charCodeAt(i)
  return fixedHues.get(name) ?? groupHues[sum % groupHues.length] ?? 'grey'
}

/** A word on a wash of its hue. */
export function Tag({ hue, children }: { hue: GroupHue; children: string }) {
  return (
    <span className={styles['tag']} data-hue={hue}>
      {children}
    </span>
  )
}

export const GroupTag = ({ name }: { name: string }) => <Tag hue={groupHue(name)}>{name}</Tag>

/** A colour to know a thing by: one of the names in marks.module.css. */
export const ColorMark = ({ color }: { color: string }) => (
  <span className={styles['colorName']} data-color={color} />
)

/** A name with its colour. */
export function ColorName({ color, children }: { color: string; children: string }) {
  return (
    <span className={styles['colorName']} data-color={color}>
      {children}
    </span>
  )
}

export type Tone = 'good' | 'warning' | 'bad' | 'off'

/** A state as a dot and a word. */
export function StateDot({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span className={styles['state']} data-tone={tone}>
      {children}
    </span>
  )
}
