import dgram from 'node:dgram'
import dns from 'node:dns'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import { Client, Pool, ProxyAgent, type Dispatcher } from 'undici'
import { addressClass } from './address-class.ts'

/**
 * Outgoing connections. Names are resolved here, every address is classified, and the connection
 * uses exactly the classified address, so that a second lookup cannot return a different address.
 * Redirects are never followed.
 */
export interface Egress {
  /**
   * Returns the dispatcher for an origin (`https://host:port`).
   * Throws `EgressRefused` for a literal address that is not allowed. `proxy`: an HTTP proxy to use
   * instead of the default; it resolves names itself, its own name is resolved and classified here.
   */
  dispatcher(origin: string, proxy?: string): Dispatcher
  /**
   * Opens a connection for protocols other than HTTP, never through the proxy. Rejects with
   * `EgressRefused` for an address that is not allowed, else with the error of the socket.
   */
  connect(target: { host: string; port: number }): Promise<net.Socket>
  /** Sends UDP packets. Rejects as `connect` does; whether they arrive is not known. */
  sendDatagrams(
    target: { host: string; port: number },
    packets: readonly Uint8Array[],
  ): Promise<void>
  /**
   * Opens a connection for a WebSocket (`wss:` with TLS), by way of the proxy as `dispatcher` takes
   * it. Rejects as `connect` does.
   */
  connectTo(url: URL, proxy?: string): Promise<Duplex>
  close(): Promise<void>
}

/** The server must not connect to this address. */
export class EgressRefused extends Error {}

export interface EgressSettings {
  allowPrivate: boolean
  /** HTTP proxy for all requests; it resolves names itself. */
  proxy?: string | undefined
}

/**
 * A connection carries one request at a time. HTTP/2, which undici offers by default, would put all
 * requests to a host on one connection. If that breaks, all its streams fail, and while it is
 * silently dead every new request waits for its timeout.
 */
const HTTP1 = { allowH2: false }
const CONNECT_TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 30_000
/** Maximum number of channel proxies with open connections. */
const PROXIES_MAX = 200
/** Maximum number of origins with a pool; the oldest pool is dropped first. */
const POOLS_MAX = 2000

export function createEgress(settings: EgressSettings): Egress {
  const pools = new Map<string, Dispatcher>()
  const proxy =
    settings.proxy === undefined
      ? null
      : new ProxyAgent({ uri: settings.proxy, proxyTunnel: true, proxyTls: HTTP1, ...HTTP1 })

  const allowed = (address: string): boolean => {
    const kind = addressClass(address)
    return kind === 'public' || (kind === 'private' && settings.allowPrivate)
  }

  const lookup: net.LookupFunction = (hostname, options, callback) => {
    dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, '', 4)
        return
      }
      const good = addresses.filter(({ address }) => allowed(address))
      const first = good[0]
      if (first === undefined) {
        callback(new EgressRefused('the name resolves to an address that is not allowed'), '', 4)
      } else if (options.all === true) {
        callback(null, good)
      } else {
        callback(null, first.address, first.family)
      }
    })
  }

  const proxyAllowed = (uri: string): void => {
    const host = new URL(uri).hostname.replace(/^\[(.*)\]$/, '$1')
    if (net.isIP(host) !== 0 && !allowed(host)) {
      throw new EgressRefused('the address of the proxy is not allowed')
    }
  }

  const proxies = new Map<string, Dispatcher>()
  const throughProxy = (uri: string): Dispatcher => {
    const known = proxies.get(uri)
    if (known !== undefined) return known
    proxyAllowed(uri)
    const made = new ProxyAgent({
      uri,
      proxyTunnel: true,
      proxyTls: { lookup, timeout: CONNECT_TIMEOUT_MS, ...HTTP1 },
      ...HTTP1,
    })
    if (proxies.size >= PROXIES_MAX) dropOldest(proxies)
    proxies.set(uri, made)
    return made
  }

  const connect: Egress['connect'] = ({ host, port }) => {
    if (net.isIP(host) !== 0 && !allowed(host)) {
      return Promise.reject(new EgressRefused('the address is not allowed'))
    }
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host, port, lookup })
      const timer = setTimeout(
        () => socket.destroy(new Error('the connection took too long')),
        CONNECT_TIMEOUT_MS,
      )
      socket.once('error', reject)
      socket.once('close', () => clearTimeout(timer))
      socket.once('connect', () => {
        clearTimeout(timer)
        socket.off('error', reject)
        resolve(socket)
      })
    })
  }

  return {
    dispatcher(origin, proxyOfCall) {
      const known = proxyOfCall === undefined ? pools.get(origin) : undefined
      if (known !== undefined) return known
      const host = new URL(origin).hostname.replace(/^\[(.*)\]$/, '$1')
      if (net.isIP(host) !== 0 && !allowed(host)) {
        throw new EgressRefused('the address is not allowed')
      }
      if (proxyOfCall !== undefined) return throughProxy(proxyOfCall)
      if (proxy !== null) return proxy
      const pool = new Pool(origin, {
        connect: { lookup, timeout: CONNECT_TIMEOUT_MS },
        keepAliveTimeout: KEEP_ALIVE_MS,
        pipelining: 1,
        ...HTTP1,
      })
      if (pools.size >= POOLS_MAX) dropOldest(pools)
      pools.set(origin, pool)
      return pool
    },
    connect,
    async sendDatagrams({ host, port }, packets) {
      // The first allowed address; a literal one is classified in the same way.
      const found = await dns.promises.lookup(host, { all: true })
      const target = found.find(({ address }) => allowed(address))
      if (target === undefined) throw new EgressRefused('the address is not allowed')
      const socket = dgram.createSocket(target.family === 6 ? 'udp6' : 'udp4')
      try {
        for (const packet of packets) {
          await new Promise<void>((resolve, reject) => {
            socket.send(packet, port, target.address, (error) =>
              error === null ? resolve() : reject(error),
            )
          })
        }
      } finally {
        socket.close()
      }
    },
    async connectTo({ protocol, hostname, port }, proxyOfCall) {
      const host = hostname.replace(/^\[(.*)\]$/, '$1')
      if (net.isIP(host) !== 0 && !allowed(host)) {
        throw new EgressRefused('the address is not allowed')
      }
      if (proxyOfCall !== undefined) proxyAllowed(proxyOfCall)
      const isSecure = protocol === 'wss:'
      const to = { host, port: Number(port) || (isSecure ? 443 : 80) }
      const uri = proxyOfCall ?? settings.proxy
      // The operator's proxy may have any address.
      const by = proxyOfCall === undefined ? {} : { lookup }
      const socket =
        uri === undefined ? await connect(to) : await tunnel(uri, `${hostname}:${to.port}`, by)
      return isSecure
        ? tls.connect({ socket, servername: net.isIP(host) === 0 ? host : '' })
        : socket
    },
    async close() {
      await Promise.all([...pools.values(), ...proxies.values()].map((kept) => kept.destroy()))
      await proxy?.destroy()
    },
  }
}

/** A connection to `target` (`host:port`) through an HTTP proxy. */
async function tunnel(
  uri: string,
  target: string,
  by: { lookup?: net.LookupFunction },
): Promise<Duplex> {
  const { origin, username, password } = new URL(uri)
  const connect = { ...by, timeout: CONNECT_TIMEOUT_MS }
  const client = new Client(origin, { connect, headersTimeout: CONNECT_TIMEOUT_MS, ...HTTP1 })
  const headers: Record<string, string> = { host: target }
  if (username !== '') {
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
    headers['proxy-authorization'] = `Basic ${Buffer.from(credentials).toString('base64')}`
  }
  const { statusCode, socket } = await client.connect({ path: target, headers })
  if (statusCode === 200) return socket
  socket.destroy()
  throw new Error(`the proxy answered ${statusCode}`)
}

/** Closes the pool after its open requests have finished. */
function dropOldest(kept: Map<string, Dispatcher>): void {
  const oldest = kept.entries().next()
  if (oldest.done) return
  kept.delete(oldest.value[0])
  void oldest.value[1].close()
}
