import { spawn } from 'node:child_process'
import path from 'node:path'
import { onTestFinished } from 'vitest'

/** The built server, as started from the command line. `npm test` builds it. */
export const PROGRAM = path.join(import.meta.dirname, '../../../dist/server/gatehouse.js')

/** Exit code and output of a program. */
export interface Ended {
  code: number | null
  out: string
  err: string
}

/**
 * Starts the program as from a command line, with only these variables; it is ended with the test
 * at the latest.
 */
export function runProgram(args: string[], env: Record<string, string>, cwd = process.cwd()) {
  const program = spawn(process.execPath, [PROGRAM, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void program.kill('SIGKILL'))
  const said = { out: '', err: '' }
  program.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()))
  program.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()))
  const ended = new Promise<Ended>((resolve) => {
    program.on('close', (code) => resolve({ code, ...said }))
  })
  /** `said`: output so far. */
  return { program, ended, said }
}
