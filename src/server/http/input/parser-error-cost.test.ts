import { once } from 'node:events'
import net from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRelay, type RelaySetup } from '../../test/relay-setup.ts'

/** Packets for which a regular expression on the request line took seconds to minutes. */
const PACKETS: Record<string, (length: number) => string> = {
  'slashes and bytes beyond ASCII': (length) =>
    `GET ${'/'.repeat(length)}${'\x80'.repeat(length)}\n`,
  'the same in a well-formed line, as nginx passes it on': (length) =>
    `GET ${'/'.repeat(length)}${'\x80'.repeat(length)}\xa0\xa0x HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  'a version that is not redirected': (length) =>
    `GET ${'/'.repeat(length)}${'\x80'.repeat(length)} HTTP/2.0\r\n\r\n`,
}

let setup: RelaySetup
beforeAll(async () => {
  setup = await startRelay()
})
afterAll(() => setup.close())

async function statusOf(packet: string): Promise<string> {
  const { hostname, port } = new URL(setup.url)
  const socket = net.connect(Number(port), hostname)
  let answer = ''
  socket.setEncoding('latin1').on('data', (part: string) => (answer += part))
  socket.on('error', () => {})
  socket.write(packet, 'latin1')
  await once(socket, 'close')
  return answer.slice(0, 'HTTP/1.1 400'.length)
}

/** Milliseconds of CPU time of this process, which also runs the server. */
async function cost(packet: string): Promise<number> {
  const before = process.cpuUsage()
  expect(await statusOf(packet)).toBe('HTTP/1.1 400')
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test.each(Object.entries(PACKETS))('%s are rejected quickly', async (_name, packet) => {
  expect(await cost(packet(3900))).toBeLessThan(200)
  expect(await cost(packet(16_000))).toBeLessThan(200)
})
