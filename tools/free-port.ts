import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below Linux's ephemeral port range, in which a free port may be taken at any time. */
const PORT_MIN = 20_000
const PORT_MAX = 32_000
const PORT_TRIES = 50

/** Returns a port of 127.0.0.1 for a program that cannot choose one itself. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORT_TRIES; tries++) {
    const port = randomInt(PORT_MIN, PORT_MAX)
    if (await canListen(port)) return port
  }
  throw new Error(`no free port between ${PORT_MIN} and ${PORT_MAX}`)
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
