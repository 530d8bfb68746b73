import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'

/** A network between this process and PostgreSQL that can fail. */
export interface PostgresLink {
  url: string
  /** Closes all connections on both sides. */
  cut(): void
  /** Stops forwarding on the existing connections, without closing them. */
  mute(): void
  /**
   * Closes our side of all connections and rejects new ones until `mend`; the server does not
   * notice.
   */
  lose(): void
  mend(): void
  /** Holds back data that we send on the existing connections; new ones work. */
  holdUp(): void
  /** Delivers the data held back, even if our side is closed. */
  deliver(): void
  close(): Promise<void>
}

export async function linkTo(url: string): Promise<PostgresLink> {
  const { hostname, port } = new URL(url)
  const pairs = new Set<{ near: net.Socket; far: net.Socket }>()
  let held: { near: net.Socket; far: net.Socket }[] = []
  let isLost = false
  const server = net.createServer({ allowHalfOpen: true }, (near) => {
    near.on('error', () => {})
    if (isLost) {
      near.resetAndDestroy()
      return
    }
    const far = net.connect({ port: Number(port), host: hostname, allowHalfOpen: true })
    far.on('error', () => {})
    const pair = { near, far }
    pairs.add(pair)
    near.on('close', () => {
      if (!isLost && !held.includes(pair)) far.destroy()
    })
    far.on('close', () => near.destroy())
    near.pipe(far)
    far.pipe(near)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const linked = new URL(url)
  // A server that listens on TCP has a port.
  linked.port = String((server.address() as AddressInfo).port)
  const cut = () => {
    for (const { near, far } of pairs) {
      near.resetAndDestroy()
      far.resetAndDestroy()
    }
    pairs.clear()
  }
  return {
    url: linked.href,
    cut,
    mute() {
      for (const socket of [...pairs].flatMap(({ near, far }) => [near, far])) {
        socket.unpipe().pause()
      }
    },
    lose() {
      isLost = true
      for (const { near } of pairs) near.resetAndDestroy()
    },
    mend() {
      isLost = false
    },
    holdUp() {
      held = [...pairs]
      for (const { near } of held) near.unpipe().pause()
    },
    deliver() {
      for (const { near, far } of held) near.pipe(far)
    },
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
