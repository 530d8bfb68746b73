import { accessTokenApi, type AccessToken } from '../../contract/access-token-api.ts'
import { ACCESS_SCOPES, ACCESS_TOKENS_MAX } from '../../contract/access-token.ts'
import { isAdmin } from '../../contract/user.ts'
import { userApi } from '../../contract/user-api.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit, type AuditAuthor } from '../audit/audit-store.ts'
import type { Queries } from '../db/database.ts'
import { serve, type Actor, type Route } from '../http/handler.ts'
import { newHexSecret, sha256 } from '../secrets.ts'
import { requireSession } from '../user/present-password.ts'
import { mayChange } from '../user/user.ts'
import { findUser, lockUnchanged, lockUser, type StoredUser } from '../user/user-store.ts'
import { newAccessToken, newTokenRefusal } from './access-token.ts'
import {
  accessTokensOf,
  deleteAccessToken,
  insertNamedToken,
  replaceWireToken,
  type ListedAccessToken,
} from './access-token-store.ts'

/** Number of hash characters that identify an access token, unique within an account. */
const ID_LENGTH = 16

/**
 * Routes for system access tokens: the unnamed token of One API, the caller's named tokens, and
 * those of another user.
 */
export function accessTokenRoutes(app: App): Route[] {
  const { database, clock } = app
  return [
    serve(userApi.accessToken, async (call) => {
      const { actor } = call
      const token = newHexSecret()
      const nowSeconds = clock.nowSeconds()
      await database.write.transaction().execute(async (trx) => {
        if (!(await lockUnchanged(trx, actor.user))) throw new AppError('not_signed_in')
        await replaceWireToken(trx, { userId: actor.id, tokenHash: sha256(token), nowSeconds })
        // Any user may call this as often as they like, so only administrators' are audited.
        if (isAdmin(actor.role)) await recordCreation(trx, call, { name: '', scopes: ['all'] })
      })
      return { data: token }
    }),
    serve(accessTokenApi.list, async ({ actor }) => ({
      data: (await accessTokensOf(database.read, actor.user)).map(listed),
    })),
    serve(accessTokenApi.create, async (call) => {
      const { actor, body } = call
      requireSession(actor)
      const token = newAccessToken()
      const nowSeconds = clock.nowSeconds()
      const stored: ListedAccessToken = {
        tokenHash: sha256(token),
        isWire: false,
        name: (body.name ?? '').trim(),
        scopes: ACCESS_SCOPES.filter((scope) => body.scopes?.includes(scope)),
        createdAt: nowSeconds,
        expiresAt: body.expires_at ?? 0,
        usedAt: 0,
        usedAddress: '',
      }
      const refusal = newTokenRefusal(stored, nowSeconds)
      if (refusal !== null) throw new AppError(refusal)
      await database.write.transaction().execute(async (trx) => {
        // Locked, so that parallel calls cannot exceed the maximum.
        if (!(await lockUnchanged(trx, actor.user))) throw new AppError('not_signed_in')
        const count = (await accessTokensOf(trx, actor.user)).filter(({ isWire }) => !isWire).length
        if (count >= ACCESS_TOKENS_MAX) {
          throw new AppError('access_tokens_max', { max: ACCESS_TOKENS_MAX })
        }
        await insertNamedToken(trx, actor.id, stored)
        await recordCreation(trx, call, stored)
      })
      return { data: { ...listed(stored), token } }
    }),
    serve(accessTokenApi.revoke, async (call) => {
      // A leaked access token must not lock out the programs of its owner.
      requireSession(call.actor)
      await database.write
        .transaction()
        .execute((trx) => revoke(trx, call, { user: call.actor.user, id: call.params.token }))
    }),
    serve(accessTokenApi.listOf, async ({ actor, params }) => {
      const target = await findUser(database.read, params.id)
      return { data: (await accessTokensOf(database.read, manageable(actor, target))).map(listed) }
    }),
    serve(accessTokenApi.revokeOf, async (call) => {
      await database.write.transaction().execute(async (trx) => {
        const target = manageable(call.actor, await lockUser(trx, call.params.id))
        await revoke(trx, call, { user: target, id: call.params.token })
      })
    }),
  ]

  function recordCreation(
    trx: Queries,
    author: AuditAuthor,
    { name, scopes, expiresAt = 0 }: { name: string; scopes: string[]; expiresAt?: number },
  ): Promise<void> {
    return recordAudit(trx, author, {
      nowSeconds: clock.nowSeconds(),
      action: 'access_token.create',
      target: { id: author.actor.id, name: author.actor.user.username },
      before: null,
      after: { name, scopes, expires_at: expiresAt },
    })
  }

  /** Throws `access_token_gone` if the user has no such access token. */
  async function revoke(
    trx: Queries,
    author: AuditAuthor,
    { user, id }: { user: StoredUser; id: string },
  ): Promise<void> {
    const tokens = await accessTokensOf(trx, user)
    const token = tokens.find((one) => idOf(one) === id)
    if (token === undefined) throw new AppError('access_token_gone')
    await deleteAccessToken(trx, user.id, token)
    const { name, scopes, expiresAt } = token
    await recordAudit(trx, author, {
      nowSeconds: clock.nowSeconds(),
      action: 'access_token.revoke',
      target: { id: user.id, name: user.username },
      before: { name, scopes, expires_at: expiresAt },
      after: null,
    })
  }
}

/** Returns the user if the actor may manage it. Throws `not_found`, `cannot_change_peer`. */
function manageable(actor: Actor, target: StoredUser | undefined): StoredUser {
  if (target === undefined) throw new AppError('not_found')
  if (target.id === actor.id || !mayChange(actor, target)) throw new AppError('cannot_change_peer')
  return target
}

const idOf = ({ tokenHash }: ListedAccessToken): string => tokenHash.slice(0, ID_LENGTH)

const listed = (token: ListedAccessToken): AccessToken => ({
  id: idOf(token),
  name: token.name,
  is_wire: token.isWire,
  scopes: token.scopes,
  created_at: token.createdAt,
  expires_at: token.expiresAt,
  used_at: token.usedAt,
  used_address: token.usedAddress,
})
