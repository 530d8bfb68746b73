import { ChannelInput } from '../../contract/channel-api.ts'
import { ChannelTypeNumber } from '../../contract/channel-type-number.ts'
import { LogType } from '../../contract/log.ts'
import { NEVER_EXPIRES } from '../../contract/token.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { replaceWireToken } from '../access-token/access-token-store.ts'
import { newChannels, type ChannelFields } from '../channel/channel.ts'
import { insertChannels } from '../channel/channel-store.ts'
import { SESSION_COOKIE } from '../http/sessions.ts'
import { creditUser, openToken } from '../ledger/balances.ts'
import { addAllChannelSums } from '../ledger/channel-sums.ts'
import type { Settlement } from '../ledger/operations.ts'
import { insertLog, type NewLog } from '../log/log-store.ts'
import { insertRedemptions } from '../redemption/redemption-store.ts'
import { newAffCode, newHexSecret, newTokenKey, randomText, sha256 } from '../secrets.ts'
import {
  insertToken,
  setTokenStatus,
  type NewToken,
  type StoredToken,
} from '../token/token-store.ts'
import { insertUser, updateUser } from '../user/user-store.ts'
import type { TestServer } from './test-app.ts'

/** Creates rows like the product: through the stores, with their points in the ledger. */

export interface TestUser {
  id: number
  username: string
  password: string
  /** `session=…`, of a session that was started for the test. */
  cookie: string
}

export const PASSWORD = 'password-1'

/** Creates a signed-in user with the given quota. */
export async function aUser(
  { app, database }: TestServer,
  over: {
    username?: string
    role?: number
    status?: number
    quota?: number
    group?: string
    email?: string
    mustChangePassword?: boolean
  } = {},
): Promise<TestUser> {
  const username = over.username ?? randomText(10)
  const nowSeconds = app.clock.nowSeconds()
  const id = await database.write.transaction().execute(async (trx) => {
    const created = await insertUser(trx, {
      username,
      passwordHash: await app.passwords.hash(PASSWORD),
      display_name: username,
      role: over.role ?? Role.user,
      aff_code: newAffCode(12),
    })
    if (created === null) throw new Error(`the name ${username} is taken`)
    await updateUser(trx, created, {
      status: over.status ?? UserStatus.enabled,
      ...(over.group === undefined ? {} : { group: over.group }),
      ...(over.email === undefined ? {} : { email: over.email }),
    })
    const amount = over.quota ?? 0
    if (amount > 0) {
      await creditUser(trx, { userId: created, amount, kind: 'grant', nowSeconds })
    }
    return created
  })
  const session = await app.sessions.start(id, over.mustChangePassword ?? false)
  return { id, username, password: PASSWORD, cookie: `${SESSION_COOKIE}=${session}` }
}

export const anAdmin = (server: TestServer): Promise<TestUser> =>
  aUser(server, { role: Role.admin })

/** Gives a user a system access token. */
export async function anAccessToken(
  { app, database }: TestServer,
  userId: number,
): Promise<string> {
  const token = randomText(32)
  const nowSeconds = app.clock.nowSeconds()
  await replaceWireToken(database.write, { userId, tokenHash: sha256(token), nowSeconds })
  return token
}

export async function aToken(
  { app, database }: TestServer,
  userId: number,
  over: Partial<NewToken> & { status?: number } = {},
): Promise<StoredToken> {
  const { status, ...columns } = over
  const nowSeconds = app.clock.nowSeconds()
  return database.write.transaction().execute(async (trx) => {
    const token = await insertToken(trx, {
      user_id: userId,
      key: newTokenKey(),
      name: 'a token',
      created_time: nowSeconds,
      expired_time: NEVER_EXPIRES,
      remain_quota: 0,
      unlimited_quota: false,
      models: '',
      subnet: '',
      ...columns,
    })
    await openToken(trx, { tokenId: token.id, userId, quota: token.remain_quota, nowSeconds })
    if (status === undefined) return token
    await setTokenStatus(trx, token.id, status)
    return { ...token, status }
  })
}

/** Creates a channel with one key; returns its id. */
export async function aChannel(
  { app, database }: TestServer,
  over: Partial<ChannelFields> = {},
): Promise<number> {
  const checked = newChannels(
    ChannelInput.parse({
      type: ChannelTypeNumber.openai,
      key: 'sk-upstream',
      base_url: 'http://127.0.0.1:9',
      models: 'gpt-4o-mini',
      ...over,
    }),
  )
  if (!checked.ok) throw new Error(`not a channel: ${checked.refusal.code}`)
  const [id] = await database.write
    .transaction()
    .execute((trx) => insertChannels(trx, checked.value.channels, app.clock.nowSeconds()))
  await database.announce('channels')
  if (id === undefined) throw new Error('no channel was made')
  return id
}

let lastRequest = 0

/**
 * Creates a settled relayed call: ledger row, log row and rollups. Reserves its cost by default.
 */
export async function aSettledCall(
  { app }: Pick<TestServer, 'app'>,
  {
    reserved,
    ...over
  }: Pick<Settlement, 'userId' | 'tokenId'> & Partial<Settlement> & { reserved?: number },
): Promise<Settlement> {
  lastRequest += 1
  const settlement: Settlement = {
    requestId: `call-${lastRequest}-${randomText(8)}`,
    nowSeconds: app.clock.nowSeconds(),
    channelId: 0,
    cost: 0,
    promptTokens: 0,
    completionTokens: 0,
    username: '',
    tokenName: '',
    modelName: 'gpt-4o-mini',
    detail: '',
    content: '',
    elapsedMs: 1,
    isStream: false,
    systemPromptReset: false,
    keepLog: true,
    ...over,
  }
  const { requestId, userId, tokenId, nowSeconds } = settlement
  const refusal = await app.ledger.reserve({
    requestId,
    userId,
    tokenId,
    amount: reserved ?? settlement.cost,
    nowSeconds,
    node: app.node,
  })
  if (refusal !== null) throw new Error(`not reserved: ${refusal}`)
  await app.ledger.settle(settlement)
  // Also waits for the server's own timer.
  await app.database.write.transaction().execute(addAllChannelSums)
  return settlement
}

/** Creates an unused code of the user `by`; returns id and key. */
export async function aRedemption(
  { app, database }: TestServer,
  by: number,
  over: { name?: string; quota?: number } = {},
): Promise<{ id: number; key: string }> {
  const key = newHexSecret()
  const [id] = await database.write.transaction().execute((trx) =>
    insertRedemptions(trx, [key], {
      user_id: by,
      name: 'a code',
      quota: 100,
      created_time: app.clock.nowSeconds(),
      ...over,
    }),
  )
  if (id === undefined) throw new Error('no code was made')
  return { id, key }
}

/** Creates a log row that is not a relayed call. */
export const aLogRow = ({ app, database }: TestServer, over: Partial<NewLog> = {}): Promise<void> =>
  database.write.transaction().execute((trx) =>
    insertLog(trx, {
      userId: 0,
      username: '',
      type: LogType.system,
      content: 'a row',
      nowSeconds: app.clock.nowSeconds(),
      ...over,
    }),
  )
