import { readFileSync } from 'node:fs'
import type { Refusal } from '../../contract/errors.ts'
import type { LiveOptions } from '../option/live-options.ts'

/**
 * Returns why a new password of this user is refused, or null. Only with `RefuseCommonPasswords`:
 * scripts for One API create users with passwords such as `password1`. An empty password is not
 * checked.
 */
export function commonPasswordRefusal(
  options: Pick<LiveOptions, 'flag'>,
  password: string | undefined,
  username: string | undefined,
): Refusal | null {
  if (!password || !options.flag('RefuseCommonPasswords')) return null
  const lowered = password.toLowerCase()
  if (commonPasswords().has(lowered)) return { code: 'password_common' }
  const name = username?.trim().toLowerCase() ?? ''
  const isUsername = name !== '' && lowered.replaceAll(name, '').trim() === ''
  return isUsername ? { code: 'password_is_username' } : null
}

let list: ReadonlySet<string> | undefined

/**
 * The 8,346 passwords of Django's list that have at least 8 characters, in lower case. Read when
 * they are needed for the first time, so that they do not slow down the start.
 */
function commonPasswords(): ReadonlySet<string> {
  const file = new URL('common-passwords.txt', import.meta.url)
  list ??= new Set(readFileSync(file, 'utf8').trimEnd().split('\n'))
  return list
}
