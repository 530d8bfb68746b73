import styles from './marks.module.css'

/** Hues of tags in alphabetical order, on which `groupHue` depends. */
export const tagHues = [
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
export type TagHue = (typeof tagHues)[number]

/** A word on a background of its hue. */
export function Tag({ hue, children }: { hue: TagHue; children: string }) {
  return (
    <span className={styles['tag']} data-hue={hue}>
      {children}
    </span>
  )
}

/** A colour mark, by a name defined in marks.module.css. */
export const ColorMark = ({ color }: { color: string }) => (
  <span className={styles['colorName']} data-color={color} />
)

/** A name with its colour mark. */
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
