import type { Refusal } from '../../contract/errors.ts'
import type { ChoosableGroup } from '../../contract/token-api.ts'
import { groupNames } from '../../contract/user.ts'
import type { LiveOptions } from '../option/live-options.ts'

/** Groups that a token's calls may use: those of its owner and the generally usable ones. */

type Options = Pick<LiveOptions, 'ratios' | 'usableGroups'>

/** Whether tokens of a user in the `own` groups may use this one. */
export const mayUseGroup = (options: Options, own: readonly string[], group: string): boolean =>
  own.includes(group) || options.usableGroups().has(group)

/**
 * Returns why a user's token may not use the group, or null. Empty stands for the user's own
 * groups.
 */
export function groupRefusal(
  options: Options,
  { group: own }: { group: string },
  group: string,
): Refusal | null {
  if (group === '' || mayUseGroup(options, groupNames(own), group)) return null
  return { code: 'token_group_not_allowed', params: { group: group.slice(0, 100) } }
}

/** Returns the groups that a user in these groups can choose, own ones first. */
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
