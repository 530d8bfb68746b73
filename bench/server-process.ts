import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { openSync, readFileSync, readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type ServerProcess = {
  pid: number
  /** Resident memory of the process and its children in MiB; 0 if the system does not report it. */
  rssMebibytes(): number
  /**
   * Processor time of the process and its children in seconds; 0 if the system does not report it.
   */
  cpuSeconds(): number
  /** Stops it and waits for its end. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

export type ServerOptions = {
  name: string
  /** Arguments of Node. */
  args: string[]
  /** Path of Node; that of this process if not set. */
  node?: string
  env: Record<string, string>
  /** An address that responds, with any status, when the server is ready. */
  readyUrl: string
  core: number | null
  /** File for its output; discarded if not set. */
  outputFile?: string
  /** Required limit of open files. */
  openFilesMin?: number
}

const READY_TIMEOUT_MS = 60_000
const READY_POLL_MS = 20
const STOP_TIMEOUT_MS = 90_000
const KIBIBYTES_PER_MEBIBYTE = 1024
/** Linux reports processor time in this unit, regardless of the kernel's own tick. */
const TICKS_PER_SECOND = 100

export const canPin =
  process.platform === 'linux' && spawnSync('taskset', ['--version']).status === 0

/** Command line that runs a program on one core; unchanged where that is not supported. */
function pinned(core: number | null, command: string, args: string[]): [string, string[]] {
  if (core === null || !canPin) return [command, args]
  return ['taskset', ['-c', String(core), command, ...args]]
}

/** Runs a file on the given core, if not null; `T` is the JSON that it prints. */
export function childResult<T>(file: string, options: object, core: number | null): Promise<T> {
  const script = [file, JSON.stringify(options)]
  const [command, args] = pinned(core, process.execPath, script)
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const parts: Buffer[] = []
    child.stdout.on('data', (part: Buffer) => parts.push(part))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code !== 0) return reject(new Error(`${basename(file)} ended with ${code}`))
      // These files print the type that their caller states.
      resolve(JSON.parse(Buffer.concat(parts).toString()) as T)
    })
  })
}

export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const [command, args] = withOpenFiles(
    options.openFilesMin,
    ...pinned(options.core, options.node ?? process.execPath, options.args),
  )
  const output = options.outputFile === undefined ? 'ignore' : openSync(options.outputFile, 'a')
  const child = spawn(command, args, {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', output, output],
  })
  const server = serverProcess(child)
  try {
    await untilReady(child, options)
  } catch (error) {
    await server.stop('SIGKILL')
    throw error
  }
  return server
}

/** `taskset` and `bash` replace themselves with the program, so the child's pid is the server's. */
function withOpenFiles(
  openFilesMin: number | undefined,
  command: string,
  args: string[],
): [string, string[]] {
  if (openFilesMin === undefined || process.platform === 'win32') return [command, args]
  const script = `ulimit -n ${openFilesMin} 2>/dev/null; exec "$@"`
  return ['bash', ['-c', script, 'bash', command, ...args]]
}

function serverProcess(child: ChildProcess): ServerProcess {
  const pid = child.pid ?? 0
  return {
    pid,
    rssMebibytes: () => sumOfTree(pid, rssKibibytes) / KIBIBYTES_PER_MEBIBYTE,
    cpuSeconds: () => cpuSecondsOf(pid),
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill(signal)
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      await ended
      clearTimeout(timer)
    },
  }
}

/** Processor time of a process and its children in seconds. */
export const cpuSecondsOf = (pid: number): number => sumOfTree(pid, cpuTicks) / TICKS_PER_SECOND

async function untilReady(child: ChildProcess, { name, readyUrl, outputFile }: ServerOptions) {
  const giveUpAtMs = performance.now() + READY_TIMEOUT_MS
  let failed: Error | null = null
  child.once('error', (error) => (failed = error))
  while (performance.now() < giveUpAtMs) {
    if (failed) throw failed
    if (child.exitCode !== null || child.signalCode !== null) {
      const said = outputFile === undefined ? '' : readFileSync(outputFile, 'utf8').slice(-2000)
      throw new Error(`${name} ended before it was ready\n${said}`)
    }
    try {
      await (await fetch(readyUrl)).arrayBuffer()
      return
    } catch {
      await sleep(READY_POLL_MS)
    }
  }
  throw new Error(`${name} was not ready within ${READY_TIMEOUT_MS / 1000} s`)
}

function rssKibibytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
}

function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in parentheses may contain spaces; after it, user and system time are fields 12 and
  // 13.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[11]) + Number(fields[12])
}

/** Sum of a figure over a process and all its descendants. */
function sumOfTree(pid: number, figure: (pid: number) => number): number {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
    )
    return children.reduce((sum, child) => sum + sumOfTree(Number(child), figure), figure(pid))
  } catch {
    return 0
  }
}
