import { runCommandLine } from '../commands/command-line.ts'
import type { DatabaseLocation } from './for-each-database.ts'
import { newFolder } from './one-api-databases.ts'
import type { Ended } from './run-program.ts'

/** Settings with which a command uses this database. */
export const environmentOf = (location: DatabaseLocation): Record<string, string> =>
  location.engine === 'sqlite' ? { SQLITE_PATH: location.path } : { SQL_DSN: location.url }

class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

/**
 * Runs a command of the command line within this process, in an empty folder and with these
 * variables alone. For what a command says and does; what a process is the subject of (signals,
 * output, a kill) takes `runProgram`.
 */
export async function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const said = { out: '', err: '' }
  const { stdout, stderr, exit } = process
  const writers = { out: stdout.write, err: stderr.write }
  const folder = process.cwd()
  process.chdir(newFolder())
  stdout.write = (text: string | Uint8Array) => Boolean((said.out += String(text)))
  stderr.write = (text: string | Uint8Array) => Boolean((said.err += String(text)))
  process.exit = (code) => {
    throw new Exit(Number(code ?? process.exitCode ?? 0))
  }
  process.exitCode = undefined
  try {
    await runCommandLine([process.execPath, 'gatehouse', ...args], env)
    return { code: Number(process.exitCode ?? 0), ...said }
  } catch (error) {
    if (!(error instanceof Exit)) throw error
    return { code: error.code, ...said }
  } finally {
    stdout.write = writers.out
    stderr.write = writers.err
    process.exit = exit
    process.exitCode = undefined
    process.chdir(folder)
  }
}
