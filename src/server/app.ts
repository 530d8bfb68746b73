import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import type { Background } from './background.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Database } from './db/database.ts'
import type { Egress } from './egress/egress.ts'
import type { ProxyWatch } from './http/ignored-proxy.ts'
import type { RateLimits } from './http/rate-limit.ts'
import type { Sessions } from './http/sessions.ts'
import type { TimeLimits } from './http/time-limits.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { LogStorage } from './log/storage/log-storage.ts'
import type { LiveModels } from './model/live-models.ts'
import type { LiveOptions } from './option/live-options.ts'
import type { TokenKeys } from './token/token-key.ts'
import type { Passwords } from './user/password.ts'
import type { UserLanguages } from './user/user-languages.ts'

/** Shared parts of a running server. */
export interface App {
  config: Config
  database: Database
  /** Reads and deletes log rows, captured texts and traces, wherever they are. */
  logs: LogStorage
  ledger: Ledger
  options: LiveOptions
  /** Capabilities of models. */
  models: LiveModels
  /** How keys of tokens are stored and recognized. */
  tokenKeys: TokenKeys
  sessions: Sessions
  passwords: Passwords
  rateLimits: RateLimits
  timeLimits: TimeLimits
  /** Language of each user. */
  languages: UserLanguages
  /** Outgoing connections except for relayed calls, which have their own. */
  egress: Egress
  /** Work that continues after a response was sent. */
  background: Background
  clock: Clock
  /** The program's own output. "Log" means the rows that users see. */
  trace: Logger
  /** `v` and the package's version. */
  version: string
  /** Start time of this process, in seconds. */
  startSeconds: number
  /** Folder of the built manual; it need not exist. */
  manualFolder: string
  /** Unique name of this process on the database. */
  node: string
  /** Returns the client address, behind trusted proxies from their headers. */
  addressOf(request: IncomingMessage): string
  /** Whether the client uses TLS, to this server or to a trusted proxy. */
  isSecure(request: IncomingMessage): boolean
  /** Additional origins that count as this server's own. */
  ownOrigins: ReadonlySet<string>
  proxyWatch: ProxyWatch
}
