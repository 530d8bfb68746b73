import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'

/** A network between us and PostgreSQL that can fail. */
export interface PostgresLink {
  url: string
  /** Ends all connections, and both sides hear of it. */
  cut(): void
  /** From now on nothing comes through on those there are, and nobody is told. */
  mute(): void
  /** We hear that all are gone, and get no others until it is mended; the server hears nothing. */
  lose(): void
  mend(): void
  /** Keeps back what we send on those there are; others come through. */
  holdUp(): void
  /** What was kept back comes through after all, whether or not we are still there. */
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
