import type { ExternalProvider, ListedProvider } from '../../contract/oauth.ts'
import { EXTERNAL_PROVIDERS } from '../../contract/oauth.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import type { CallContext } from '../http/handler.ts'
import { changeUser } from '../user/change-user.ts'
import { deleteSessionsOf } from '../user/session-store.ts'
import { lockAdministration, lockUser, type StoredUser } from '../user/user-store.ts'
import type { External } from './external-sign-in.ts'
import { standingByRules } from './provider-rules.ts'
import { listedOne } from './provider/redirect-providers.ts'

/**
 * Gives a user the groups and the role that the provider's rules derive from the claims, and takes
 * back what they no longer derive. Recorded in the audit with the provider as author. Returns the
 * user's current row.
 */
export async function applyRules(
  app: App,
  call: Pick<CallContext, 'address' | 'requestId'>,
  { provider, person }: External,
  user: StoredUser,
): Promise<StoredUser> {
  const { options, database, clock } = app
  const entry = isListed(provider) ? listedOne(options, provider) : null
  if (entry === null || entry.rules.length === 0) return user
  const groups = options.ratios().group
  const changesOf = (now: StoredUser) =>
    standingByRules(entry, person.claims ?? {}, {
      user: now,
      isGroup: (name) => groups.has(name),
    })
  if (Object.keys(changesOf(user)).length === 0) return user
  const changed = await database.write.transaction().execute(async (trx) => {
    await lockAdministration(trx)
    const now = await lockUser(trx, user.id)
    if (now === undefined) throw new AppError('user_disabled')
    const changes = changesOf(now)
    if (Object.keys(changes).length === 0) return now
    await changeUser(trx, now.id, changes)
    if (changes.role !== undefined && changes.role < now.role) {
      await deleteSessionsOf(trx, now.id, '')
    }
    await recordAudit(
      trx,
      { ...call, actor: { id: 0, user: { username: provider } } },
      {
        nowSeconds: clock.nowSeconds(),
        action: 'user.update',
        target: { id: now.id, name: now.username },
        before: { group: now.group, role: now.role },
        after: { group: now.group, role: now.role, ...changes },
      },
    )
    return { ...now, ...changes }
  })
  await database.announce(`user:${user.id}`)
  return changed
}

const isListed = (provider: ExternalProvider): provider is ListedProvider =>
  !EXTERNAL_PROVIDERS.some((fixed) => fixed === provider)
