import { afterAll, afterEach, beforeAll } from 'vitest'
import { NEVER_EXPIRES } from '../../contract/token.ts'
import { Role } from '../../contract/user.ts'
import { openDatabase } from '../commands/open-database.ts'
import type { Database } from '../db/database.ts'
import { takeId } from '../db/ids.ts'
import { creditUser, openToken } from '../ledger/balances.ts'
import { createLedger, type Ledger } from '../ledger/ledger.ts'
import type {
  LedgerOperation,
  LedgerResult,
  ReserveOperation,
  Settlement,
} from '../ledger/operations.ts'
import { insertToken } from '../token/token-store.ts'
import { insertUser } from '../user/user-store.ts'
import { expectBooksBalanced } from './expect-books-balanced.ts'
import { forEachDatabase, type DatabaseLocation } from './for-each-database.ts'

/** A database with its ledger but without a server, and accounts whose points are in the ledger. */
export interface Books {
  database: Database
  ledger: Ledger
  /** Location of the database, to open it like another process. */
  location: DatabaseLocation
}

export interface Account {
  userId: number
  tokenId: number
  username: string
}

/** A time in the middle of an hour. */
export const NOW_SECONDS = 1_800_002_000
export const NODE = 'node-1'
export const CHANNEL_ID = 1

/** The database of a suite. Opening is slow, so its tests share it, each with its own accounts. */
export interface BooksSuite {
  readonly books: Books
  /** Opens the same data like another process, with its own ledger; closed after the test. */
  openBeside(): Promise<Books>
}

/** Describes `suite` on each engine; after each test the ledger must balance. */
export function forEachBooks(name: string, suite: (shared: BooksSuite) => void): void {
  forEachDatabase(name, (open) => {
    let opened: Books | undefined
    const beside: Books[] = []
    const shared: BooksSuite = {
      get books() {
        if (opened === undefined) throw new Error('the books are open within tests only')
        return opened
      },
      async openBeside() {
        const books = await booksAt(this.books.location)
        beside.push(books)
        return books
      },
    }
    beforeAll(async () => {
      opened = await booksAt(await open())
      await opened.database.write.insertInto('channels').values(CHANNEL).execute()
    })
    afterEach(async () => {
      for (const { database } of beside.splice(0)) await database.close()
      await expectBooksBalanced(shared.books.database)
    })
    afterAll(() => shared.books.database.close())
    suite(shared)
  })
}

/** For tests of one engine only; the caller closes the database. */
export async function booksAt(location: DatabaseLocation): Promise<Books> {
  const database = await openDatabase(location)
  return { database, ledger: createLedger(database), location }
}

let lastAccount = 0
let lastCall = 0

/** Returns a request id that no other test uses. */
export function newCallId(): string {
  lastCall += 1
  return `call-${lastCall}`
}

/** Creates a user with one token; without `tokenQuota` the token is unlimited. */
export async function anAccount(
  { database }: Pick<Books, 'database'>,
  { quota = 0, tokenQuota }: { quota?: number; tokenQuota?: number } = {},
): Promise<Account> {
  lastAccount += 1
  const username = `user${lastAccount}`
  const nowSeconds = NOW_SECONDS
  return database.write.transaction().execute(async (trx) => {
    const userId = await insertUser(trx, {
      username,
      passwordHash: '-',
      display_name: '',
      role: Role.user,
      aff_code: username,
    })
    if (userId === null) throw new Error('the name is taken')
    if (quota > 0) await creditUser(trx, { userId, amount: quota, kind: 'grant', nowSeconds })
    const tokenId = await addToken(trx, { userId, tokenQuota })
    return { userId, tokenId, username }
  })
}

/** Creates another token of a user. */
export async function addToken(
  trx: Parameters<typeof insertToken>[0],
  { userId, tokenQuota }: { userId: number; tokenQuota: number | undefined },
): Promise<number> {
  const token = await insertToken(trx, {
    user_id: userId,
    key: `key-${userId}-${await takeId(trx, 'redemptions')}`,
    name: 'a token',
    created_time: NOW_SECONDS,
    expired_time: NEVER_EXPIRES,
    remain_quota: tokenQuota ?? 0,
    unlimited_quota: tokenQuota === undefined,
    models: '',
    subnet: '',
  })
  const quota = token.remain_quota
  await openToken(trx, { tokenId: token.id, userId, quota, nowSeconds: NOW_SECONDS })
  return token.id
}

export function reservation(
  { userId, tokenId }: Account,
  over: Pick<ReserveOperation, 'requestId' | 'amount'> & Partial<ReserveOperation>,
): ReserveOperation {
  return { kind: 'reserve', userId, tokenId, nowSeconds: NOW_SECONDS, node: NODE, ...over }
}

export function settlement(
  { userId, tokenId, username }: Account,
  over: Pick<Settlement, 'requestId' | 'cost'> & Partial<Settlement>,
): Settlement {
  return {
    nowSeconds: NOW_SECONDS,
    userId,
    tokenId,
    channelId: CHANNEL_ID,
    promptTokens: 11,
    completionTokens: 7,
    username,
    tokenName: 'a token',
    modelName: 'gpt-4o-mini',
    detail: '{"model_ratio":"0.075"}',
    content: 'model ratio 0.075',
    elapsedMs: 12,
    isStream: false,
    systemPromptReset: false,
    keepLog: true,
    ...over,
  }
}

/** Writes one batch directly. */
export const runBatch = (
  { database }: Pick<Books, 'database'>,
  ...operations: LedgerOperation[]
): Promise<LedgerResult[]> => database.runLedger(operations)

/** Returns the balances of user and token, and the points reserved by calls. */
export async function figuresOf({ database }: Books, { userId, tokenId }: Account) {
  const user = await database.write
    .selectFrom('users')
    .select(['quota', 'used_quota', 'request_count'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  const token = await database.write
    .selectFrom('tokens')
    .select(['remain_quota', 'used_quota'])
    .where('id', '=', tokenId)
    .executeTakeFirst()
  const open = await database.write
    .selectFrom('reservations')
    .select(['user_amount', 'token_amount'])
    .where('user_id', '=', userId)
    .execute()
  return {
    quota: user.quota,
    used: user.used_quota,
    calls: user.request_count,
    tokenRemain: token?.remain_quota,
    tokenUsed: token?.used_quota,
    held: open.reduce((sum, row) => sum + row.user_amount, 0),
    tokenHeld: open.reduce((sum, row) => sum + row.token_amount, 0),
  }
}

const CHANNEL = {
  id: CHANNEL_ID,
  type: 1,
  key: '',
  status: 1,
  name: 'a channel',
  weight: 0,
  created_time: NOW_SECONDS,
  test_time: null,
  response_time: null,
  base_url: '',
  other: null,
  balance: null,
  balance_updated_time: null,
  models: '',
  group: 'default',
  used_quota: 0,
  model_mapping: '',
  priority: 0,
  config: null,
  system_prompt: null,
  test_model: null,
}
