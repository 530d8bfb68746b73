import { Tag, type TagHue, tagHues } from '../../ui/marks.tsx'
import styles from './group-tags.module.css'

const fixedHues = new Map<string, TagHue>([
  ['vip', 'yellow'],
  ['pro', 'yellow'],
  ['svip', 'red'],
  ['premium', 'red'],
])

/** Hue of a group, the same everywhere: fixed by name, else by the sum of its UTF-16 units. */
export function groupHue(name: string): TagHue {
  let sum = 0
  for (let i = 0; i < name.length; i += 1) sum += name.charCodeAt(i)
  return fixedHues.get(name) ?? tagHues[sum % tagHues.length] ?? 'grey'
}

export const GroupTag = ({ name }: { name: string }) => <Tag hue={groupHue(name)}>{name}</Tag>

/** Maximum number of tags that fit in a cell. */
const TAGS_MAX = 2

/** The groups of a row: the first ones as tags, and the number of the others. */
export function GroupTags({ groups, wraps = false }: { groups: string[]; wraps?: boolean }) {
  const rest = groups.length - TAGS_MAX
  return (
    <span className={styles['tags']} data-wraps={wraps} title={groups.join(', ')}>
      {groups.slice(0, TAGS_MAX).map((group) => (
        <GroupTag key={group} name={group} />
      ))}
      {rest > 0 && <span className={styles['rest']}>+{rest}</span>}
    </span>
  )
}
