import type { Refusal } from '../../../contract/errors.ts'
import type { RouteQuestion } from '../../../contract/route-api.ts'
import { groupNames, UserStatus } from '../../../contract/user.ts'
import type { App } from '../../app.ts'
import { AppError } from '../../app-error.ts'
import type { LimitAsk } from '../../limit/limit.ts'
import { limitRefusalAt } from '../../limit/limit-answer.ts'
import { budgetPeriods } from '../../limit/limit-period.ts'
import { findFacts } from '../../limit/limit-store.ts'
import { groupRefusal } from '../../token/token-group.ts'
import { allowsModel, tokenRefusal } from '../../token/token.ts'
import { findTokenById, findTokenByName, type StoredToken } from '../../token/token-store.ts'
import { findUser, findUserByName, type StoredUser } from '../../user/user-store.ts'

/** The caller that a route question is about. */
export interface Asker {
  /** The user; null for an arbitrary caller. */
  user: StoredUser | null
  token: StoredToken | null
  groups: readonly string[]
  /** The refusal if the token may not use its group; null if it may. */
  groupRefusal: Refusal | null
}

/** Finds the caller. Throws `route_user_unknown` or `route_token_unknown`. */
export async function whoAsks({ database, options }: App, question: RouteQuestion): Promise<Asker> {
  const named = await namedUser(database, question.user?.trim() ?? '')
  const token = await namedToken(database, question.token?.trim() ?? '', named)
  const user = named ?? (token && ((await findUser(database.read, token.user_id)) ?? null))
  const asked = question.group?.trim() ?? ''
  const given = asked === '' ? (token?.group ?? '') : ''
  return {
    user,
    token,
    groups: given === '' ? groupNames(asked || (user?.group ?? '')) : [given],
    groupRefusal: user && groupRefusal(options, user, given),
  }
}

/** Parses an id; returns null if the text is not one. */
const idOf = (text: string): number | null => (/^\d{1,15}$/.test(text) ? Number(text) : null)

async function namedUser(database: App['database'], text: string): Promise<StoredUser | null> {
  if (text === '') return null
  const id = idOf(text)
  const byName = await findUserByName(database.read, text)
  const user = byName ?? (id === null ? undefined : await findUser(database.read, id))
  if (user === undefined) throw new AppError('route_user_unknown')
  return user
}

async function namedToken(
  database: App['database'],
  text: string,
  user: StoredUser | null,
): Promise<StoredToken | null> {
  if (text === '') return null
  const id = idOf(text)
  const byName = user === null ? null : await findTokenByName(database.read, user.id, text)
  const token = byName ?? (id === null ? null : await findTokenById(database.read, id))
  if (token === null || (user !== null && token.user_id !== user.id)) {
    throw new AppError('route_token_unknown')
  }
  return token
}

/** Returns the refusal if limits of the token or its user reject a call of this size. */
export async function limitsRefusalOf(
  { database, clock, options }: App,
  { user, token }: Asker,
  ask: LimitAsk,
): Promise<AppError | null> {
  const zone = options.text('LimitTimeZone')
  const nowSeconds = clock.nowSeconds()
  const moment = { nowSeconds, periods: budgetPeriods(zone, nowSeconds) }
  const found = await Promise.all([
    token === null ? null : findFacts(database.read, { subject: 'token', id: token.id }, moment),
    user === null ? null : findFacts(database.read, { subject: 'user', id: user.id }, moment),
  ])
  const facts = found.filter((one) => one !== null)
  return limitRefusalAt(facts, { ask, nowSeconds, zone })
}

/**
 * Returns the first refusal that such a call meets before a channel is chosen, in the relay's
 * order.
 */
export function refusalOf(
  { clock }: Pick<App, 'clock'>,
  { user, token, groupRefusal: ofGroup }: Asker,
  { model, cost }: { model: string; cost: number },
): AppError | null {
  const ofToken = token === null ? null : tokenRefusal(token, clock.nowSeconds())
  if (ofToken !== null) return new AppError(ofToken)
  if (user !== null && user.status !== UserStatus.enabled) {
    return new AppError('token_owner_disabled')
  }
  if (ofGroup !== null) return new AppError(ofGroup.code, ofGroup.params)
  if (token !== null && !allowsModel(token, model)) {
    return new AppError('token_model_not_allowed', { model })
  }
  if (user !== null && user.quota < cost) return new AppError('user_quota_insufficient')
  const isShort = token !== null && !token.unlimited_quota && token.remain_quota < cost
  return isShort ? new AppError('token_quota_insufficient') : null
}
