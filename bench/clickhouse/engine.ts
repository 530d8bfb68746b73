import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'

/**
 * ClickHouse's engine from npm. The package has 546 MB, so it is no dependency: it is installed
 * into the folder for temporary files at the first use, and kept there.
 */
const CHDB = '3.4.0'
const SERVER = path.join(import.meta.dirname, 'engine-server.js')

declare module 'vitest' {
  export interface ProvidedContext {
    /** Address of the engine that the checks of `bench/clickhouse` share. */
    clickhouseUrl: string
  }
}

export interface ClickhouseEngine {
  /** `http://127.0.0.1:<port>`; append the name of a database. */
  url: string
  stop(): Promise<void>
}

export async function startClickhouse(): Promise<ClickhouseEngine> {
  const modules = path.join(os.tmpdir(), `gatehouse-chdb-${CHDB}`)
  if (!existsSync(path.join(modules, 'node_modules/chdb'))) {
    mkdirSync(modules, { recursive: true })
    process.stdout.write(`installing chdb ${CHDB} (546 MB) into ${modules}\n`)
    const install = ['install', '--prefix', modules, '--ignore-scripts', `chdb@${CHDB}`]
    execFileSync('npm', install, { stdio: ['ignore', 'ignore', 'inherit'] })
  }
  const data = await mkdtemp(path.join(os.tmpdir(), 'gatehouse-clickhouse-'))
  const server = spawn(process.execPath, [SERVER, modules, data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [url] = await Promise.race([
    once(createInterface(server.stdout), 'line'),
    once(server, 'exit').then(() => {
      throw new Error('the engine did not start')
    }),
  ])
  return {
    url: String(url),
    async stop() {
      const ended = once(server, 'exit')
      server.kill()
      await ended
      await rm(data, { recursive: true, force: true })
    },
  }
}

/** Creates an empty database on an engine. Returns its address for `LOG_DSN`. */
export async function createClickhouseDatabase(url: string, name: string): Promise<string> {
  const answer = await fetch(url, { method: 'POST', body: `CREATE DATABASE ${name}` })
  if (!answer.ok) throw new Error(await answer.text())
  return `${url}/${name}`
}
