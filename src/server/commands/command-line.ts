import { Command } from 'commander'
import cluster from 'node:cluster'
import { inspect } from 'node:util'
import { ConfigError, parseConfig, workersOf, type Config } from '../config.ts'
import { readEnvFile } from './env-file.ts'
import type { RecordOptions } from './record.ts'
import { packageVersion } from '../version.ts'

/** Exit codes of the command line. */
const FAILED = 1
/** For `reconcile` and `backup`, where 1 means that the ledger does not balance. */
const NOT_RECONCILED = 2

type Environment = Readonly<Record<string, string | undefined>>
/** Reads the settings; arguments of a command take precedence. */
type ReadSettings = (overrides?: Record<string, string>) => Config

const HELP = `
Settings are environment variables, or lines of the file .env in the folder it is started in;
docs/manual/en/settings.md lists them. Exit codes: 0, and 1 for a failure; of reconcile and backup 1 for a
difference, 2 for a failure.

Examples:
  gatehouse --port 8080                    a server on http://localhost:8080, data in ./data
  DATA_DIR=/var/lib/gatehouse gatehouse    its database and secrets elsewhere
  gatehouse --workers auto                 one process per processor, on PostgreSQL (SQL_DSN)
  gatehouse reconcile                      compare every balance with the ledger, check the audit
  gatehouse record --channel 7 --calls 3   record three calls of channel 7 into ./recordings
  gatehouse backup --to /mnt/backups       save database, session secret and settings, and check them`

function addServe(program: Command, settings: ReadSettings, given: () => Environment): void {
  program
    .command('serve', { isDefault: true })
    .description('start the server; the default command')
    .option('--port <port>', 'port to listen on (PORT)')
    .option('--host <host>', 'address to listen on (HOST)')
    .option('--workers <number>', 'server processes that share the port, or auto (WORKERS)')
    .option('--log-dir <folder>', 'no effect: the log goes to standard output')
    .action(
      async (options: { port?: string; host?: string; workers?: string; logDir?: string }) => {
        // Unit and compose files for One API contain this option.
        if (options.logDir !== undefined) {
          process.stderr.write('--log-dir has no effect here: the log goes to standard output\n')
        }
        const config = settings({
          ...(options.port === undefined ? {} : { PORT: options.port }),
          ...(options.host === undefined ? {} : { HOST: options.host }),
          ...(options.workers === undefined ? {} : { WORKERS: options.workers }),
        })
        const isUnderNpm = given()['npm_lifecycle_event'] !== undefined
        const count = workersOf(config)
        if (count > 1 && !cluster.isWorker) {
          const { supervise } = await import('./supervise.ts')
          await supervise(config, { count, isUnderNpm })
          return
        }
        const { serve } = await import('./serve.ts')
        await serve(config, { isUnderNpm, environment: given() })
      },
    )
}

function addReconcile(program: Command, settings: ReadSettings): void {
  program
    .command('reconcile')
    .description(
      'recompute every balance from the ledger and print the differences; changes nothing',
    )
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NOT_RECONCILED))
    .action(() =>
      exitByBooks(async () => {
        const { reconcileCommand } = await import('./reconcile.ts')
        return reconcileCommand(settings())
      }),
    )
}

/** Exits with 0 if the ledger balances, 1 if not, 2 if it could not be checked. */
async function exitByBooks(areBalanced: () => Promise<boolean>): Promise<void> {
  try {
    process.exitCode = (await areBalanced()) ? 0 : FAILED
  } catch (error) {
    const isTold = error instanceof ConfigError
    process.stderr.write(`${isTold ? error.message : inspect(error)}\n`)
    process.exit(NOT_RECONCILED)
  }
}

function addBackup(program: Command, settings: ReadSettings, given: () => Environment): void {
  program
    .command('backup')
    .description(
      'save database, session secret and settings beside a running server, and check them',
    )
    .option('--to <folder>', 'parent folder of the backup (BACKUP_DIR)')
    .action((options: { to?: string }) =>
      exitByBooks(async () => {
        const { backupCommand } = await import('./backup.ts')
        return backupCommand(settings(), given(), options.to)
      }),
    )
  program
    .command('restore')
    .description('replace the database with a backup; the replaced files are kept')
    .argument('<backup>', 'a folder created by backup, or a SQLite file')
    .action(async (backup: string) => {
      const { restore } = await import('./restore.ts')
      await restore(settings(), backup)
    })
}

const ACCEPT_LOSSES = [
  '--accept-losses',
  'continue although users lose what cannot be taken over, such as a second factor',
] as const

function addAdopt(program: Command, settings: ReadSettings): void {
  program
    .command('adopt')
    .description('adopt a database of One API; serve does it too')
    .option('--dry-run', 'only report the contents and what would change')
    .option(...ACCEPT_LOSSES)
    .action(async (options: { dryRun?: boolean; acceptLosses?: boolean }) => {
      const { adopt } = await import('./adopt.ts')
      await adopt(settings(), {
        isDryRun: options.dryRun === true,
        acceptsLosses: options.acceptLosses === true,
      })
    })
  program
    .command('import')
    .description('load a MySQL or MariaDB dump of One API into an empty database and adopt it')
    .argument(
      '<files...>',
      'the dump, or the dumps of database and log, plain or compressed with gzip',
    )
    .option(...ACCEPT_LOSSES)
    .action(async (files: string[], options: { acceptLosses?: boolean }) => {
      const { importDumps } = await import('./import.ts')
      await importDumps(settings(), files, { acceptsLosses: options.acceptLosses === true })
    })
}

function addMove(program: Command, settings: ReadSettings): void {
  program
    .command('move')
    .description('copy a SQLite database of Gatehouse into an empty PostgreSQL database')
    .option('--from <file>', 'the SQLite file (SQLITE_PATH); no server may use it')
    .option('--to <dsn>', 'postgres://user:password@host:port/name (SQL_DSN)')
    .action(async (options: { from?: string; to?: string }) => {
      const { move } = await import('./move.ts')
      await move(
        settings({
          ...(options.from === undefined ? {} : { SQLITE_PATH: options.from }),
          ...(options.to === undefined ? {} : { SQL_DSN: options.to }),
        }),
        { isFileNamed: options.from !== undefined },
      )
    })
}

function addPartitionLogs(program: Command, settings: ReadSettings): void {
  program
    .command('partition-logs')
    .description('divide the log on PostgreSQL into monthly partitions, beside running servers')
    .option('--dry-run', 'only report what would change')
    .action(async (options: { dryRun?: boolean }) => {
      const { partitionLogs } = await import('./partition-logs.ts')
      await partitionLogs(settings(), {
        isDryRun: options.dryRun === true,
        say: (line) => process.stdout.write(`${line}\n`),
      })
    })
}

function addRecord(program: Command, settings: ReadSettings): void {
  program
    .command('record')
    .description(
      'record the next calls of a channel or token of the running server, without secrets, to report a fault',
    )
    .option('--channel <id>', 'record calls that go to this channel')
    .option('--token <id>', 'record calls of this token; with --channel, only those that go to it')
    .option('--calls <number>', 'stop after this many calls, at most 100', '1')
    .option('--minutes <number>', 'stop after this many minutes, at most 60', '10')
    .option('--to <folder>', 'folder for the files, one per call', 'recordings')
    .action(async (options: RecordOptions) => {
      const { record } = await import('./record.ts')
      await record(settings(), options)
    })
}

function addSecrets(program: Command, settings: ReadSettings): void {
  const commands = [
    ['encrypt', 'encrypt the stored secrets with the first key of SECRETS_KEY or SECRETS_KEY_FILE'],
    ['decrypt', 'store the secrets unencrypted again, for example before a return to One API'],
    ['rotate', 're-encrypt the stored secrets with the first key; the old one must still be set'],
  ] as const
  for (const [wish, description] of commands) {
    program
      .command(`${wish}-secrets`)
      .description(`${description}; servers may run`)
      .option('--dry-run', 'only report how many secrets there are and what would change')
      .action(async (options: { dryRun?: boolean }) => {
        const { convertSecretsCommand } = await import('./secrets.ts')
        await convertSecretsCommand(settings(), wish, { isDryRun: options.dryRun === true })
      })
  }
}

function addHashTokenKeys(program: Command, settings: ReadSettings): void {
  program
    .command('hash-token-keys')
    .description(
      'store only hashes of the keys of all tokens, which cannot be undone; servers may run',
    )
    .option('--dry-run', 'only report how many keys are stored')
    .action(async (options: { dryRun?: boolean }) => {
      const { hashTokenKeysCommand } = await import('./hash-token-keys.ts')
      await hashTokenKeysCommand(settings(), { isDryRun: options.dryRun === true })
    })
}

/** Otherwise the default command would take the word as its argument. */
function refuseUnknownCommand(program: Command, argv: readonly string[]): void {
  const [, , word = 'serve'] = argv
  const names = [...program.commands.map((command) => command.name()), 'help']
  if (!word.startsWith('-') && !names.includes(word)) {
    program.error(`error: unknown command '${word}'; gatehouse --help lists them`)
  }
}

/** Runs `gatehouse <command>`. Each command's code is loaded only when it runs. */
export async function runCommandLine(
  argv: readonly string[],
  environment: Environment,
): Promise<void> {
  const given = (): Environment => ({ ...readEnvFile(process.cwd()), ...environment })
  const settings: ReadSettings = (overrides = {}) => {
    const { config, notes } = parseConfig({ ...given(), ...overrides })
    for (const note of notes) process.stderr.write(`${note}\n`)
    return config
  }
  const program = new Command('gatehouse')
    .description('A self-hosted gateway for AI-model APIs with a web console')
    .version(packageVersion())
    .addHelpText('after', HELP)
  addServe(program, settings, given)
  addReconcile(program, settings)
  addBackup(program, settings, given)
  program
    .command('health')
    .description('check whether the server on this machine accepts calls; exit code 1 if not')
    .action(async () => {
      const { health } = await import('./health.ts')
      await health(settings())
    })
  addAdopt(program, settings)
  addMove(program, settings)
  addPartitionLogs(program, settings)
  addRecord(program, settings)
  addSecrets(program, settings)
  addHashTokenKeys(program, settings)
  program
    .command('demo')
    .description('start the server on a temporary database with realistic data')
    .option('--port <port>', 'port to listen on (PORT)')
    .action(async (options: { port?: string }) => {
      const { demo } = await import('./demo.ts')
      await demo(settings(options.port === undefined ? {} : { PORT: options.port }))
    })
  program
    .command('reset-root')
    .description(
      'set a new password for root, revoke its sessions and access token, enable password sign-in',
    )
    .option('--password <password>', 'the new password (default: a random one, printed)')
    .action(async (options: { password?: string }) => {
      const { resetRoot } = await import('./reset-root.ts')
      await resetRoot(settings(), options.password)
    })
  program
    .command('refresh-models')
    .description('fetch model data from models.dev')
    .option('--from <address>', 'address of the data', 'https://models.dev/api.json')
    .action(async (options: { from: string }) => {
      const { refreshModels } = await import('./refresh-models.ts')
      await refreshModels(settings(), options.from)
    })
  refuseUnknownCommand(program, argv)
  try {
    await program.parseAsync(argv)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    // Exits without waiting for open resources.
    process.exit(FAILED)
  }
}
