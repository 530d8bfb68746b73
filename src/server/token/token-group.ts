import type { Refusal } from '../../contract/errors.ts'
import type { ChoosableGroup } from '../../contract/token-api.ts'
import { groupNames } from '../../contract/user.ts'
import type { LiveOptions } from '../option/live-options.ts'

/** Which groups the calls of a token may belong to: those of its owner, and those open to anybody. */

type Options = Pick<LiveOptions, 'ratios' | 'usableGroups'>

/** Whether the tokens of a user in `own` groups may be given this one. */
export const mayUseGroup = (options: Options, own: readonly string[], group: string): boolean =>
  own.includes(group) || options.usableGroups().has(group)

/** Why a user's token may not be given the group, or null. Empty is the user's own. */
export function groupRefusal(
  options: Options,
  { group: own }: { group: string },
  group: string,
): Refusal | null {
  if (group === '' || mayUseGroup(options, groupNames(own), group)) return null
  return { code: 'token_group_not_allowed', params: { group: group.slice(0, 100) } }
}

/** What a user in these groups may choose among, the own ones first. */
export function choosableGroups(
  options: Options,
  own: readonly string[],
): Record<string, ChoosableGroup> {
  const usable = options.usableGroups()
  const ratios = options.ratios().group
  return Object.fromEntries(
    [...new Set([...own, ...usable.keys()])].map((group) => [
      group,
      {
        ratio: Number(ratios.get(group) ?? 1),
        desc: usable.get(group) ?? '',
        own: own.includes(group),
      },
    ]),
  )
}
