import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { addressClass } from '../egress/address-class.ts'
import { isTrustedProxy, plainAddress, type TrustedProxies } from './client-address.ts'

/** A proxy whose forwarding headers are ignored, and the setting that would make them count. */
export interface IgnoredProxy {
  /** Address that the proxy connects from. */
  address: string
  /** The complete line for the environment, `TRUSTED_PROXIES=…`. */
  setting: string
}

export interface ProxyWatch {
  look(request: IncomingMessage): void
  /** Returns the first ignored proxy since the start, or null. */
  found(): IgnoredProxy | null
}

/** Headers in which a proxy passes on the client's address. */
const CALLER_HEADERS = ['x-forwarded-for', 'x-real-ip', 'forwarded'] as const

/**
 * Looks for forwarding headers from a loopback or private address that is not in `TRUSTED_PROXIES`.
 * Behind such a proxy all clients share one rate limit, so one client can lock out all others. The
 * first one is reported in the trace and, in the console, to root.
 */
export function createProxyWatch({
  config,
  trusted,
  trace,
}: {
  config: Pick<Config, 'TRUSTED_PROXIES'>
  trusted: TrustedProxies
  trace: Pick<Logger, 'warn'>
}): ProxyWatch {
  let ignored: IgnoredProxy | null = null
  return {
    look({ headers, socket }) {
      if (ignored !== null || !CALLER_HEADERS.some((name) => headers[name] !== undefined)) return
      const address = plainAddress(socket.remoteAddress)
      if (addressClass(address) !== 'private' || isTrustedProxy(address, trusted)) return
      const setting = `TRUSTED_PROXIES=${[...config.TRUSTED_PROXIES, address].join(',')}`
      ignored = { address, setting }
      trace.warn(
        { address, setting },
        'forwarding headers of a proxy are ignored, so all its clients share one rate limit; ' +
          'if the proxy is yours, set TRUSTED_PROXIES as shown',
      )
    },
    found: () => ignored,
  }
}
