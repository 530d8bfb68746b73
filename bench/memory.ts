import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startFakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { createGatehouse, ROOT_PASSWORD } from './gatehouse-server.ts'
import { createChannel, createToken, giveQuota, signIn } from './management-client.ts'
import type { ServerProcess } from './server-process.ts'

const MEBIBYTE = 1024 * 1024
/** How long the connections are watched. */
const WATCH_MS = 8000
const SAMPLE_MS = 100
const MODEL = 'gpt-4o'
const PASSWORD = 'UserPass1'

/**
 * npm run bench -- memory [--connections 25] [--megabytes 30] [--answers 6] [--bomb 120]
 *
 * Starts a server with default settings and prints its resident memory (RSS, MiB)
 *
 * 1. while an account without balance, then one with balance, withholds the last byte of bodies;
 * 2. while an upstream responds to chat calls and image calls with small compressed bodies that
 *    decompress to `--bomb` MiB each.
 */
export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      connections: { type: 'string', default: '25' },
      megabytes: { type: 'string', default: '30' },
      answers: { type: 'string', default: '6' },
      bomb: { type: 'string', default: '120' },
    },
  })
  const upstream = await startFakeUpstream({ wordsFor: () => `bomb-${values.bomb}` })
  const rows: Row[] = []
  try {
    for (const quota of [0, 10_000_000]) {
      const bodies = {
        connections: Number(values.connections),
        megabytes: Number(values.megabytes),
      }
      rows.push(await onServer(upstream.url, quota, (server) => withheldBodies(server, bodies)))
    }
    for (const path of ['/v1/chat/completions', '/v1/images/generations']) {
      const count = Number(values.answers)
      rows.push(await onServer(upstream.url, 1e9, (server) => packedAnswers(server, path, count)))
    }
  } finally {
    await upstream.close()
  }
  console.table(rows)
}

interface Row {
  case: string
  before: number
  highest: number
  after: number
  answers: string
}

interface Target {
  url: string
  key: string
  quota: number
  process: ServerProcess
}

/** Runs one case on a separate server. */
async function onServer(
  upstream: string,
  quota: number,
  run: (target: Target) => Promise<Row>,
): Promise<Row> {
  const gatehouse = await createGatehouse({ database: 'sqlite' })
  const process = await gatehouse.start()
  const { url } = gatehouse
  try {
    const root = await signIn({ url, username: 'root', password: ROOT_PASSWORD })
    await createChannel(root, { name: 'fake', base_url: upstream, models: `${MODEL},dall-e-3` })
    const account = { username: 'user1', password: PASSWORD, display_name: 'user1' }
    await root.call('POST', '/api/user/', account)
    if (quota > 0) await giveQuota(root, 'user1', quota)
    const user = await signIn({ url, ...account })
    const token = { name: 't', remain_quota: 0, unlimited_quota: true }
    return await run({ url, key: await createToken(user, token), quota, process })
  } finally {
    await process.stop()
    await gatehouse.remove()
  }
}

async function withheldBodies(
  target: Target,
  { connections, megabytes }: { connections: number; megabytes: number },
): Promise<Row> {
  const watch = watchMemory(target.process)
  const answers: string[] = []
  const sockets = Array.from({ length: connections }, () =>
    sendAllButLast(target, megabytes, answers),
  )
  await sleep(WATCH_MS)
  const memory = watch.stop()
  for (const socket of sockets) socket.destroy()
  const what = `${connections} bodies of ${megabytes} MiB, balance ${target.quota}`
  return { case: what, ...memory, answers: counted(answers, connections) }
}

function sendAllButLast({ url, key }: Target, megabytes: number, answers: string[]): net.Socket {
  const { hostname, port } = new URL(url)
  const socket = net.connect(Number(port), hostname)
  const start = `{"model":"${MODEL}","messages":[{"role":"user","content":"`
  const length = megabytes * MEBIBYTE
  socket.on('error', () => {})
  socket.on('data', (part: Buffer) => {
    const status = /^HTTP\/1\.1 (\d+)/.exec(part.toString('latin1'))?.[1]
    if (status !== undefined) answers.push(status)
  })
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${length + 1}\r\n\r\n${start}`,
  )
  const piece = Buffer.alloc(256 * 1024, 'a')
  let left = length - start.length
  const pour = (): void => {
    while (left > 0 && !socket.destroyed) {
      const sent = piece.subarray(0, Math.min(left, piece.length))
      left -= sent.length
      if (!socket.write(sent)) {
        socket.once('drain', pour)
        return
      }
    }
  }
  pour()
  return socket
}

async function packedAnswers(target: Target, path: string, count: number): Promise<Row> {
  const watch = watchMemory(target.process)
  const body = path.includes('images')
    ? { model: 'dall-e-3', prompt: 'x' }
    : { model: MODEL, messages: [{ role: 'user', content: 'x' }] }
  const call = async (): Promise<string> => {
    const answer = await fetch(target.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    await answer.arrayBuffer()
    return String(answer.status)
  }
  const answers = await Promise.all(Array.from({ length: count }, call))
  await sleep(1000)
  const what = `${count} packed answers on ${path}`
  return { case: what, ...watch.stop(), answers: counted(answers, count) }
}

/** Samples the memory of the server until stopped. */
function watchMemory(server: ServerProcess) {
  const before = Math.round(server.rssMebibytes())
  let highest = before
  const timer = setInterval(() => {
    highest = Math.max(highest, Math.round(server.rssMebibytes()))
  }, SAMPLE_MS)
  return {
    stop() {
      clearInterval(timer)
      return { before, highest, after: Math.round(server.rssMebibytes()) }
    },
  }
}

/** Formats counts such as `403 × 25`; pending calls come last. */
function counted(answers: readonly string[], of: number): string {
  const counts = Object.entries(Object.groupBy(answers, (status) => status)).map(
    ([status, same = []]) => `${status} × ${same.length}`,
  )
  const missing = of - answers.length
  return [...counts, ...(missing > 0 ? [`none × ${missing}`] : [])].join(', ')
}
