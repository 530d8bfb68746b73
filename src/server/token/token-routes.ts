import type { CaptureMode } from '../../contract/log.ts'
import { tokenApi, type TokenInput, type TokenUpdate } from '../../contract/token-api.ts'
import { NEVER_EXPIRES, TokenStatus } from '../../contract/token.ts'
import { groupNames } from '../../contract/user.ts'
import { AppError, refuse } from '../app-error.ts'
import type { App } from '../app.ts'
import { SECONDS_PER_HOUR } from '../clock.ts'
import type { Queries } from '../db/database.ts'
import { serve, type Actor, type Route } from '../http/handler.ts'
import { openToken, setTokenQuota } from '../ledger/balances.ts'
import { saveCaptureMode } from '../log/body/body-store.ts'
import { captureMessage } from '../log/body/capture.ts'
import { wholeLimits } from '../limit/limit.ts'
import { deleteTokenLimits, saveLimits } from '../limit/limit-store.ts'
import { standingOf } from '../limit/standing.ts'
import { newTokenKey } from '../secrets.ts'
import { choosableGroups, groupRefusal } from './token-group.ts'
import { saveTokenGroup } from './token-group-store.ts'
import { enableRefusal, tokenChangeRefusal, tokenFieldRefusal, type TokenFields } from './token.ts'
import {
  deleteToken,
  endPreviousKey,
  findToken,
  insertToken,
  rotateKey,
  searchTokens,
  setTokenStatus,
  tokenPage,
  updateToken,
  type StoredToken,
} from './token-store.ts'

export const tokenRoutes = (app: App): Route[] => [...lookUpRoutes(app), ...changeRoutes(app)]

function lookUpRoutes(app: App): Route[] {
  const { database, options, tokenKeys } = app
  return [
    serve(tokenApi.groups, ({ actor }) => ({
      data: choosableGroups(options, groupNames(actor.user.group)),
    })),
    serve(tokenApi.list, async ({ actor, query, reply }) => {
      const page = { page: query.p, order: query.order }
      const { rows, total } = await tokenPage(database.lists, actor.id, page)
      reply.header('X-Total-Count', total)
      return { data: rows.map((token) => shownToken(app, token)) }
    }),
    serve(tokenApi.search, async ({ actor, query, reply }) => {
      const rows = await searchTokens(database.lists, actor.id, {
        keyword: query.keyword.trim(),
        hash: tokenKeys.hash,
      })
      reply.header('X-Total-Count', rows.length)
      return { data: rows.map((token) => shownToken(app, token)) }
    }),
    serve(tokenApi.find, async ({ actor, params }) => ({
      data: await wholeToken(app, actor.id, params.id),
    })),
  ]
}

function changeRoutes(app: App): Route[] {
  const { database, clock, options, tokenKeys } = app
  return [
    serve(tokenApi.create, async ({ actor, body }) => {
      const fields = wholeFields(body)
      refuse(tokenFieldRefusal(fields) ?? groupRefusal(options, actor.user, body.group ?? ''))
      const nowSeconds = clock.nowSeconds()
      const key = newTokenKey()
      const { id } = await database.write.transaction().execute(async (trx) => {
        const created = await insertToken(trx, {
          user_id: actor.id,
          ...tokenKeys.stored(key),
          name: fields.name,
          created_time: nowSeconds,
          // On creation the wire's 0 and a missing value both mean "never".
          expired_time: fields.expired_time === 0 ? NEVER_EXPIRES : fields.expired_time,
          remain_quota: fields.remain_quota,
          unlimited_quota: body.unlimited_quota ?? false,
          models: body.models ?? '',
          subnet: fields.subnet,
        })
        const opening = { tokenId: created.id, userId: actor.id, quota: created.remain_quota }
        await openToken(trx, { ...opening, nowSeconds })
        await saveRest(trx, created.id, body)
        return created
      })
      await announceCapture(app, id, body.capture)
      return { data: { ...(await wholeToken(app, actor.id, id)), key } }
    }),
    serve(tokenApi.setStatus, async ({ actor, body }) => {
      const token = await ownToken(app, actor.id, body.id)
      const { name, subnet } = body
      refuse(tokenChangeRefusal(token, wholeFields({ name, subnet })))
      if (body.status === TokenStatus.enabled) refuse(enableRefusal(token, clock.nowSeconds()))
      await setTokenStatus(database.write, token.id, body.status)
      await database.announce(`token:${token.id}`)
      return { data: await wholeToken(app, actor.id, token.id) }
    }),
    serve(tokenApi.update, async ({ actor, body }) => {
      await updateWhole(app, actor, body)
      await database.announce(`token:${body.id}`)
      await announceCapture(app, body.id, body.capture)
      return { data: await wholeToken(app, actor.id, body.id) }
    }),
    serve(tokenApi.rotate, async ({ actor, params, body }) => {
      const key = newTokenKey()
      const graceSeconds = body.grace_hours * SECONDS_PER_HOUR
      const previousUntil = graceSeconds === 0 ? 0 : clock.nowSeconds() + graceSeconds
      const token = { userId: actor.id, id: params.id }
      const rotation = { ...tokenKeys.stored(key), previousUntil }
      if (!(await rotateKey(database.write, token, rotation))) throw new AppError('not_found')
      await database.announce(`token:${params.id}`)
      return { data: { ...(await wholeToken(app, actor.id, params.id)), key } }
    }),
    serve(tokenApi.endPreviousKey, async ({ actor, params }) => {
      if (!(await endPreviousKey(database.write, actor.id, params.id))) {
        throw new AppError('not_found')
      }
      await database.announce(`token:${params.id}`)
      return { data: await wholeToken(app, actor.id, params.id) }
    }),
    serve(tokenApi.remove, async ({ actor, params }) => {
      await database.write.transaction().execute((trx) => deleteWhole(trx, actor.id, params.id))
      await database.announce(`token:${params.id}`)
      await announceCapture(app, params.id, 'off')
    }),
  ]
}

/**
 * Writes all members of a token's form. As in One API, missing ones count as empty, except members
 * that One API lacks, which stay.
 */
async function updateWhole(
  app: App,
  { id: userId, user }: Actor,
  body: TokenUpdate,
): Promise<void> {
  const { database, clock, options } = app
  const fields = wholeFields(body)
  const token = await ownToken(app, userId, body.id)
  const seen = { ...token, remain_quota: body.remain_quota_was ?? token.remain_quota }
  refuse(tokenChangeRefusal(seen, fields))
  if (body.status === TokenStatus.enabled) refuse(enableRefusal(token, clock.nowSeconds()))
  // A group that was taken away since stays, and its calls are refused, until another is chosen.
  if (body.group !== token.group) refuse(groupRefusal(options, user, body.group ?? ''))
  await database.write.transaction().execute(async (trx) => {
    const changed = await updateToken(trx, userId, token.id, {
      name: fields.name,
      expired_time: fields.expired_time,
      unlimited_quota: body.unlimited_quota ?? false,
      models: body.models ?? '',
      subnet: fields.subnet,
    })
    if (!changed) throw new AppError('not_found')
    if (fields.remain_quota !== seen.remain_quota) {
      await setTokenQuota(trx, {
        tokenId: token.id,
        userId,
        target: fields.remain_quota,
        was: body.remain_quota_was,
        nowSeconds: clock.nowSeconds(),
      })
    }
    await saveRest(trx, token.id, body)
  })
}

/** Deletes a token with its limits, its group and its capture mode. */
async function deleteWhole(trx: Queries, userId: number, id: number): Promise<void> {
  if (!(await deleteToken(trx, userId, id))) throw new AppError('not_found')
  await deleteTokenLimits(trx, id)
  await saveTokenGroup(trx, id, '')
  await saveCaptureMode(trx, id, 'off')
}

/** One of the user's tokens with its limits and what is used of them. */
async function wholeToken(app: App, userId: number, id: number) {
  const token = await ownToken(app, userId, id)
  return { ...shownToken(app, token), limits: await standingOf(app, { subject: 'token', id }) }
}

/** Returns a token as its owner sees it: a key that is not stored is masked. */
function shownToken({ clock }: App, token: StoredToken) {
  const until = token.gh_previous_key_until ?? 0
  return {
    ...token,
    key: token.gh_key_hint ?? token.key,
    last_ip: token.gh_last_ip ?? '',
    key_shown_once: token.gh_key_hint !== null,
    previous_key_until: until > clock.nowSeconds() ? until : 0,
  }
}

/** Stores a token's data outside its row, if given in the body. */
async function saveRest(
  trx: Queries,
  id: number,
  { capture, limits, group }: Pick<TokenInput, 'capture' | 'limits' | 'group'>,
): Promise<void> {
  if (capture !== undefined) await saveCaptureMode(trx, id, capture)
  if (group !== undefined) await saveTokenGroup(trx, id, group)
  if (limits !== undefined) await saveLimits(trx, { subject: 'token', id }, wholeLimits(limits))
}

async function announceCapture(
  { database }: App,
  tokenId: number,
  mode: CaptureMode | undefined,
): Promise<void> {
  if (mode !== undefined) await database.announce(captureMessage(tokenId, mode))
}

async function ownToken({ database }: App, userId: number, id: number): Promise<StoredToken> {
  const token = await findToken(database.read, userId, id)
  if (token === null) throw new AppError('not_found')
  return token
}

/** Returns the fields of a body with the wire's zero values. */
const wholeFields = (body: {
  [K in keyof TokenFields]?: TokenFields[K] | undefined
}): TokenFields => ({
  name: body.name ?? '',
  expired_time: body.expired_time ?? 0,
  remain_quota: body.remain_quota ?? 0,
  subnet: body.subnet ?? '',
})
