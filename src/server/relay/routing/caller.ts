import type { ErrorCode } from '../../../contract/errors.ts'
import { groupNames, isAdmin, UserStatus } from '../../../contract/user.ts'
import type { App } from '../../app.ts'
import { AppError } from '../../app-error.ts'
import { allowsAddress, statusOfRefusal, tokenRefusal } from '../../token/token.ts'
import { mayUseGroup } from '../../token/token-group.ts'
import { findTokenByKey, markToken, type StoredToken } from '../../token/token-store.ts'
import { findUser, type StoredUser } from '../../user/user-store.ts'
import { shown } from '../protocols/dialect/relay-error.ts'

/** The authenticated caller of a request. */
export interface Caller {
  token: StoredToken
  /** The key that the client sent: the token's current or previous one. */
  key: string
  user: StoredUser
  /** Client address of this call. */
  address: string
  /** The token's own group, otherwise its owner's groups in the order they are tried. */
  groups: readonly string[]
  /** Channel id that an admin appended to the key; null if not set. */
  pinnedChannel: string | null
}

/** The token and user of a key. */
export type KeyOwner = Pick<Caller, 'token' | 'user'>

/**
 * Lifetime of cached rows. Changes made in this process or announced by other processes take effect
 * immediately.
 */
const ROW_LIFE_MS = 2000
/** Maximum number of tokens whose rows are cached. */
const ROWS_MAX = 20_000

/**
 * Subtracts the cost of a call from the cached row, so that response headers need no query.
 * Spending of other processes and open reservations become visible when the row is read again.
 */
export function noteSpent({ token }: Caller, charged: number): void {
  token.remain_quota = Math.max(0, token.remain_quota - charged)
}

interface Rows {
  token: StoredToken
  key: string
  user: StoredUser
  groups: readonly string[]
  ownersGroups: readonly string[]
  readAtMs: number
}

/**
 * Authenticates callers by the token's key. Rows are cached briefly, and money never depends on the
 * cache: the reservation checks status and balance again in the database. No call is refused
 * because of cached rows: they are read again first.
 */
export interface Callers {
  /**
   * Throws the first refusal, in the order of the One API protocol. `onRefused` receives the owner
   * of a refused key; it is not called for an unknown key.
   */
  authenticate(
    authorization: string | undefined,
    address: () => string,
    onRefused?: (owner: KeyOwner) => void,
  ): Promise<Caller>
  /**
   * Returns why a reservation found token or owner unusable, read again from the database; null if
   * nothing is wrong now.
   */
  recheck(caller: Caller, address: () => string): Promise<AppError | null>
}

export function createCallers({ database, clock, trace, options, tokenKeys }: App): Callers {
  const byKey = new Map<string, Rows>()

  database.onAnnouncement((message) => {
    const [noun, id] = message.split(':')
    if (noun === 'everything') byKey.clear()
    if (noun !== 'token' && noun !== 'user') return
    for (const [key, { token, user }] of byKey) {
      if ((noun === 'token' ? token.id : user.id) === Number(id)) byKey.delete(key)
    }
  })

  /** Returns the rows of the first key that exists. */
  async function read(keys: readonly string[]): Promise<Rows | null> {
    const { hash } = tokenKeys
    const nowSeconds = clock.nowSeconds()
    const found = await findTokenByKey(database.read, keys, { hash, nowSeconds })
    const user = found === null ? undefined : await findUser(database.read, found.token.user_id)
    for (const sent of keys) byKey.delete(sent)
    if (found === null || user === undefined) return null
    const { token, key } = found
    const ownersGroups = groupNames(user.group)
    const groups = token.group === '' ? ownersGroups : [token.group]
    const rows = { token, key, user, groups, ownersGroups, readAtMs: clock.monotonicMs() }
    if (byKey.size >= ROWS_MAX) {
      const oldest = byKey.keys().next()
      if (!oldest.done) byKey.delete(oldest.value)
    }
    byKey.set(key, rows)
    return rows
  }

  /** Returns the first refusal, in the order of the One API protocol, or null. */
  function refusal({ token, user, ownersGroups }: Rows, address: () => string): ErrorCode | null {
    const ofToken = tokenRefusal(token, clock.nowSeconds())
    if (ofToken !== null) return ofToken
    if (token.subnet && !allowsAddress(token, address())) return 'token_address_not_allowed'
    if (user.status !== UserStatus.enabled) return 'token_owner_disabled'
    // Options may change at any time, so they are read for each call.
    const isOpen = token.group === '' || mayUseGroup(options, ownersGroups, token.group)
    return isOpen ? null : 'token_group_not_allowed'
  }

  async function refuseFresh(
    keys: readonly string[],
    address: () => string,
    onRefused?: (owner: KeyOwner) => void,
  ): Promise<Rows> {
    const rows = await read(keys)
    if (rows === null) throw new AppError('token_unknown')
    const reason = refusal(rows, address)
    if (reason === null) return rows
    onRefused?.(rows)
    const status = statusOfRefusal(rows.token, reason)
    if (status !== null) byKey.delete(rows.key)
    const mark = (kept: number): Promise<boolean> =>
      markToken(database.write, rows.token.id, { status: kept, nowSeconds: clock.nowSeconds() })
    const isTrue = status === null || (await mark(status))
    trace.debug({ tokenId: rows.token.id, reason }, 'a token was refused')
    // Reserved quota is not used up yet, and part of it will be released.
    const isHeld = !isTrue && reason === 'token_exhausted'
    const params = { group: shown(rows.token.group) }
    throw new AppError(isHeld ? 'token_quota_insufficient' : reason, params)
  }

  return {
    async authenticate(authorization, address, onRefused) {
      const readings = parseCredential(authorization)
      const keys = readings.map(({ key }) => key)
      const known = keys.map((key) => byKey.get(key)).find((rows) => rows !== undefined)
      const fresh = known !== undefined && clock.monotonicMs() - known.readAtMs < ROW_LIFE_MS
      const rows =
        fresh && refusal(known, address) === null
          ? known
          : await refuseFresh(keys, address, onRefused)
      const { token, key, user, groups } = rows
      const pinnedChannel = readings.find((reading) => reading.key === key)?.pinnedChannel ?? null
      return { token, key, user, address: address(), groups, pinnedChannel }
    },
    async recheck(caller, address) {
      try {
        await refuseFresh([caller.key], address)
        return null
      } catch (error) {
        if (error instanceof AppError) return error
        throw error
      }
    },
  }
}

/** A possible interpretation of a credential. */
interface Reading {
  key: string
  pinnedChannel: string | null
}

/**
 * Parses `Bearer sk-<key>-<channel id>`; prefix, scheme and channel are optional. This server's
 * keys contain no dash, but imported One Hub keys may: if the text before the first dash is no
 * known key, the whole text is looked up, then the text without a channel id at its end. The usual
 * reading comes first.
 */
function parseCredential(authorization: string | undefined): Reading[] {
  if (authorization === undefined) throw new AppError('token_missing')
  const bare = authorization.startsWith(USUAL_START)
    ? authorization.slice(USUAL_START.length)
    : authorization.replace(/^Bearer(\s+|$)/i, '').replace(/^sk-/, '')
  const whole = bare.trim()
  const [key = '', channel] = whole.split('-', 2)
  if (key === '') throw new AppError('token_unknown')
  if (channel === undefined) return [{ key, pinnedChannel: null }]
  const last = /^(.+)-(\d+)$/.exec(whole)
  return [
    { key, pinnedChannel: channel },
    { key: whole, pinnedChannel: null },
    ...(last?.[1] === undefined || last[1] === key
      ? []
      : [{ key: last[1], pinnedChannel: last[2] ?? null }]),
  ]
}

const USUAL_START = 'Bearer sk-'

/** Throws unless the caller may name a channel after the key, which only admins may. */
export function refusePin(caller: Caller): void {
  if (caller.pinnedChannel !== null && !isAdmin(caller.user.role)) {
    throw new AppError('channel_pin_not_allowed')
  }
}
