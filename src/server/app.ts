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
import type { LiveModels } from './model/live-models.ts'
import type { LiveOptions } from './option/live-options.ts'
import type { Passwords } from './user/password.ts'
import type { UserLanguages } from './user/user-languages.ts'

/** What the parts of a running server share. */
export interface App {
  config: Config
  database: Database
  ledger: Ledger
  options: LiveOptions
  /** What models can do. */
  models: LiveModels
  sessions: Sessions
  passwords: Passwords
  rateLimits: RateLimits
  timeLimits: TimeLimits
  /** In which language each user reads. */
  languages: UserLanguages
  /** The way out for everything but relayed calls, which have their own. */
  egress: Egress
  /** For what goes on after an answer has left. */
  background: Background
  clock: Clock
  /** The program's own output. "Log" means the rows that users see. */
  trace: Logger
  /** `v` and the package's version. */
  version: string
  /** When this process started, seconds. */
  startSeconds: number
  /** Name of this process among those on the database. */
  node: string
  /** The caller's address, proxies considered. */
  addressOf(request: IncomingMessage): string
  /** Whether the caller speaks TLS, to us or to a trusted proxy. */
  isSecure(request: IncomingMessage): boolean
  /** Origins besides the request's own host that count as ours. */
  ownOrigins: ReadonlySet<string>
  proxyWatch: ProxyWatch
}
