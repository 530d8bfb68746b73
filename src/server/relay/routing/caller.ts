import type { ErrorCode } from '../../../contract/errors.ts'
import { groupNames, isAdmin, UserStatus } from '../../../contract/user.ts'
import type { App } from '../../app.ts'
import { AppError } from '../../app-error.ts'
import { allowsAddress, statusOfRefusal, tokenRefusal } from '../../token/token.ts'
import { mayUseGroup } from '../../token/token-group.ts'
import { findTokenByKey, markToken, type StoredToken } from '../../token/token-store.ts'
import { findUser, type StoredUser } from '../../user/user-store.ts'
import { shown } from '../dialect/relay-error.ts'

/** Whose call it is. */
export interface Caller {
  token: StoredToken
  user: StoredUser
  /** The token's own, else its owner's in the order they are tried. */
  groups: readonly string[]
  /** Channel that an admin has named behind the key, or null. */
  pinnedChannel: string | null
}

/** Whose key it is. */
export type KeyOwner = Pick<Caller, 'token' | 'user'>

/**
 * Rows in memory are used this long; changes made here or announced by other processes count at
 * once.
 */
const ROW_LIFE_MS = 2000
/** Tokens whose rows are kept in memory. */
const ROWS_MAX = 20_000

/**
 * Takes what a call came to off the row in memory, so that its headers need no reading. What other
 * processes spend, and calls under way hold back, shows when the row is read again.
 */
export function noteSpent({ token }: Caller, charged: number): void {
  token.remain_quota = Math.max(0, token.remain_quota - charged)
}

interface Rows {
  token: StoredToken
  user: StoredUser
  groups: readonly string[]
  ownersGroups: readonly string[]
  readAtMs: number
}

/**
 * Who calls, by the token's key. Rows are kept in memory for moments only, and money never depends
 * on them: the reservation checks status and balance again where they are stored. No call is
 * refused from memory: the rows are read again first.
 */
export interface Callers {
  /**
   * Throws the first refusal of the wire's order. `onRefused` is told whose key was refused; of a
   * key that nobody has it is told nothing.
   */
  authenticate(
    authorization: string | undefined,
    address: () => string,
    onRefused?: (owner: KeyOwner) => void,
  ): Promise<Caller>
  /**
   * Why a reservation found token or owner unusable, looked up afresh; null when nothing is wrong
   * now.
   */
  recheck(caller: Caller, address: () => string): Promise<AppError | null>
}

export function createCallers({ database, clock, trace, options }: App): Callers {
  const byKey = new Map<string, Rows>()

  database.onAnnouncement((message) => {
    const [noun, id] = message.split(':')
    if (noun === 'everything') byKey.clear()
    if (noun !== 'token' && noun !== 'user') return
    for (const [key, { token, user }] of byKey) {
      if ((noun === 'token' ? token.id : user.id) === Number(id)) byKey.delete(key)
    }
  })

  /** The rows of the first of the keys that there is. */
  async function read(keys: readonly string[]): Promise<Rows | null> {
    const token = await findTokenByKey(database.read, ...keys)
    const user = token === null ? undefined : await findUser(database.read, token.user_id)
    for (const key of keys) byKey.delete(key)
    if (token === null || user === undefined) return null
    const ownersGroups = groupNames(user.group)
    const groups = token.group === '' ? ownersGroups : [token.group]
    const rows = { token, user, groups, ownersGroups, readAtMs: clock.monotonicMs() }
    if (byKey.size >= ROWS_MAX) {
      const oldest = byKey.keys().next()
      if (!oldest.done) byKey.delete(oldest.value)
    }
    byKey.set(token.key, rows)
    return rows
  }

  /** The first refusal in the wire's order, or null. */
  function refusal({ token, user, ownersGroups }: Rows, address: () => string): ErrorCode | null {
    const ofToken = tokenRefusal(token, clock.nowSeconds())
    if (ofToken !== null) return ofToken
    if (token.subnet && !allowsAddress(token, address())) return 'token_address_not_allowed'
    if (user.status !== UserStatus.enabled) return 'token_owner_disabled'
    // Options change at any time: they are asked at each call.
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
    if (status !== null) byKey.delete(rows.token.key)
    const isTrue = status === null || (await markToken(database.write, rows.token.id, status))
    trace.debug({ tokenId: rows.token.id, reason }, 'a token was refused')
    // What calls under way hold back is not used up yet, and some of it will come back.
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
      const { token, user, groups } = rows
      const pinnedChannel = readings.find(({ key }) => key === token.key)?.pinnedChannel ?? null
      return { token, user, groups, pinnedChannel }
    },
    async recheck(caller, address) {
      try {
        await refuseFresh([caller.token.key], address)
        return null
      } catch (error) {
        if (error instanceof AppError) return error
        throw error
      }
    },
  }
}

/** How a credential may be meant. */
interface Reading {
  key: string
  pinnedChannel: string | null
}

/**
 * `Bearer sk-<key>-<channel id>`; prefix, word and channel are optional. Our keys hold no dash, but
 * those of One Hub, which are adopted, may: what no key begins with up to its first dash is looked
 * for whole, and without a channel at its end. The usual reading is the first.
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

/** A channel named behind the key is for admins. */
export function refusePin(caller: Caller): void {
  if (caller.pinnedChannel !== null && !isAdmin(caller.user.role)) {
    throw new AppError('channel_pin_not_allowed')
  }
}
