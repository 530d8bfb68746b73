import { INCOMPLETE, DumpScanner } from './dump-scanner.ts'
import { DumpError, type DumpValue } from './dump-value.ts'

/**
 * Reads dumps of `mysqldump` and `mariadb-dump`, and similar dumps of other tools: `INSERT` and
 * `REPLACE` with literal rows, and columns from the statement or from `CREATE TABLE`. Other
 * statements with rows are rejected, and everything else is skipped. Memory holds one batch of
 * rows, even for a long statement.
 */
export interface DumpRows {
  table: string
  columns: readonly string[]
  rows: DumpValue[][]
}

interface DumpOptions {
  /** Whether the table's rows are wanted. */
  isWanted: (table: string) => boolean
  /** Called once for each other table with rows. */
  onOtherTable: (table: string) => void
}

const ROWS_PER_BATCH = 500
/** A longer row, or text between rows, cannot come from One API. */
const PIECE_BYTES_MAX = 512 * 1024 * 1024

const NOTHING = 'nothing'
const END = 'end'
type Piece = DumpValue[] | typeof NOTHING | typeof END

export async function* readDump(
  chunks: AsyncIterable<Buffer>,
  options: DumpOptions,
): AsyncGenerator<DumpRows> {
  const source = chunks[Symbol.asyncIterator]()
  const reader = new StatementReader(options)
  const { scanner } = reader
  let batch: DumpRows | null = null
  while (scanner.pending < 2 && !scanner.isLast) await feed(source, scanner)
  refuseWide(scanner)
  for (;;) {
    const from = scanner.position
    let piece: Piece
    try {
      piece = reader.next()
    } catch (error) {
      if (error !== INCOMPLETE) throw error
      scanner.position = from
      await feed(source, scanner)
      continue
    }
    const isSame = batch !== null && batch.table === reader.table
    if (batch !== null && (!isSame || piece === NOTHING || piece === END)) {
      yield batch
      batch = null
    }
    if (piece === END) break
    if (piece === NOTHING) continue
    batch ??= { table: reader.table, columns: reader.columns, rows: [] }
    batch.rows.push(piece)
    if (batch.rows.length === ROWS_PER_BATCH) {
      yield batch
      batch = null
    }
  }
  reader.refuseCutOff()
}

/** Reads at least as many bytes as are pending, so that a long row is not scanned repeatedly. */
async function feed(source: AsyncIterator<Buffer>, scanner: DumpScanner): Promise<void> {
  const wanted = Math.max(1, scanner.pending)
  if (wanted > PIECE_BYTES_MAX) throw new DumpError('a row of the dump is too long')
  const chunks: Buffer[] = []
  let bytes = 0
  let isLast = false
  while (bytes < wanted && !isLast) {
    const { value, done } = await source.next()
    if (done === true) isLast = true
    else {
      chunks.push(value)
      bytes += value.length
    }
  }
  scanner.add(chunks, isLast)
}

/** PowerShell's `>` writes UTF-16, with or without a byte order mark. */
function refuseWide(scanner: DumpScanner): void {
  const [first, second] = [scanner.peek(), scanner.peek(1)]
  if ((first === 0xff && second === 0xfe) || first === 0 || second === 0) {
    throw new DumpError('the dump is in UTF-16; create it with --result-file instead of ">"')
  }
  if (first === 0xef) scanner.position += 3
}

/** Returns the decoder for a MySQL character set. */
function decoderOf(charset: string): (bytes: Buffer) => string {
  if (/^(utf8|utf8mb3|utf8mb4|binary|ascii)$/i.test(charset)) return (bytes) => bytes.toString()
  if (/^latin1$/i.test(charset)) {
    const decoder = new TextDecoder('windows-1252')
    return (bytes) => decoder.decode(bytes)
  }
  throw new DumpError(`the dump is in ${charset}; create it with --default-character-set=utf8mb4`)
}

/** Other databases read backslashes differently, so texts would be altered. */
const notMysql = (program: string): DumpError =>
  new DumpError(
    `the dump is from ${program}, which needs no import: set ${program === 'SQLite' ? 'SQLITE_PATH' : 'SQL_DSN'} to the database itself`,
  )

/**
 * Double-quoted names denote tables and columns in other databases, and in MySQL only in a special
 * mode.
 */
const namedOtherwise = (): DumpError =>
  new DumpError(
    'the dump quotes table names like SQLite and PostgreSQL, which need no import: set SQLITE_PATH or SQL_DSN to the database itself; create a MySQL dump with mysqldump',
  )

/** Beginnings of dumps of other databases, or statements of their origin. */
const OF_ANOTHER =
  /^-- (PostgreSQL) database dump|^-- Adminer \S+ (PostgreSQL|SQLite)|Source Server Type\s*: (PostgreSQL|SQLite)/
/** Text that only dumps of MySQL and MariaDB contain. */
const OF_MYSQL =
  /^\/\*M?!|^-- (?:MySQL|MariaDB) dump |^-- phpMyAdmin |^-- Adminer \S+ (?:MySQL|MariaDB)|Source Server Type\s*: (?:MySQL|MariaDB)/

class StatementReader {
  readonly scanner = new DumpScanner()
  table = ''
  columns: readonly string[] = []
  readonly #options: DumpOptions
  /** Columns of tables, from their `CREATE TABLE`. */
  readonly #tables = new Map<string, string[]>()
  readonly #others = new Set<string>()
  #isInRows = false
  #delimiter = ';'
  #database = ''
  /** Database of the wanted tables. */
  #chosen: string | null = null
  #closing = { isDue: false, isThere: false }
  /** Whether the dump states that it is from MySQL; then double-quoted names are valid too. */
  #isMysql = false

  constructor(options: DumpOptions) {
    this.#options = options
    this.#decodeBy('utf8mb4')
    this.scanner.onComment = (text) => this.#readComment(text)
  }

  #decodeBy(charset: string): void {
    this.scanner.decode = decoderOf(charset)
  }

  #readComment(text: string): void {
    const charset = /^\/\*M?!\d*\s*SET\s+NAMES\s+'?(\w+)/i.exec(text)?.[1]
    if (charset !== undefined) this.#decodeBy(charset)
    const [, ...others] = OF_ANOTHER.exec(text) ?? []
    const other = others.find((program) => program !== undefined)
    if (other !== undefined) throw notMysql(other)
    if (OF_MYSQL.test(text)) this.#isMysql = true
    if (/^-- (MySQL|MariaDB) dump /.test(text)) this.#closing.isDue = true
    if (text.startsWith('-- Dump completed')) this.#closing.isThere = true
  }

  /** `mysqldump` ends with a closing line. */
  refuseCutOff(): void {
    if (this.#isInRows) throw new DumpError('the dump was cut off in the middle of its rows')
    const { isDue, isThere } = this.#closing
    if (isDue && !isThere) {
      throw new DumpError('the dump was cut off: its closing line is missing')
    }
  }

  next(): Piece {
    this.scanner.skipSpace()
    if (this.scanner.peek() === -1) return END
    return this.#isInRows ? this.#row() : this.#statement()
  }

  #statement(): typeof NOTHING {
    const { scanner } = this
    switch (scanner.peekWord()) {
      case 'INSERT':
      case 'REPLACE':
        this.#insertHead()
        break
      case 'CREATE':
        this.#create()
        break
      case 'USE':
        scanner.takeWord()
        scanner.skipSpace()
        this.#database = scanner.name()
        scanner.skipStatement(this.#delimiter)
        break
      case 'SET':
        this.#set()
        break
      case 'PRAGMA':
        throw notMysql('SQLite')
      case 'COPY':
        throw notMysql('PostgreSQL')
      case 'BEGIN':
        this.#begin()
        break
      case 'DELIMITER':
        scanner.takeWord()
        this.#delimiter = scanner.restOfLine() || ';'
        break
      default:
        scanner.skipStatement(this.#delimiter)
    }
    return NOTHING
  }

  /** MySQL has no such statement. */
  #begin(): void {
    const { scanner } = this
    scanner.takeWord()
    scanner.skipSpace()
    if (scanner.peekWord() === 'TRANSACTION') throw notMysql('SQLite')
    scanner.skipStatement(this.#delimiter)
  }

  #set(): void {
    const { scanner } = this
    scanner.takeWord()
    scanner.skipSpace()
    if (/^(CLIENT_ENCODING|STANDARD_CONFORMING_STRINGS)$/.test(scanner.peekWord())) {
      throw notMysql('PostgreSQL')
    }
    let charset: string | null = null
    if (scanner.peekWord() === 'NAMES') {
      scanner.takeWord()
      scanner.skipSpace()
      charset = scanner.peek() === 0x27 ? scanner.quoted().toString() : scanner.takeWord()
    }
    scanner.skipStatement(this.#delimiter)
    if (charset === null) return
    this.#isMysql = true
    this.#decodeBy(charset)
  }

  #insertHead(): void {
    const { scanner } = this
    scanner.takeWord()
    scanner.skipSpace()
    while (/^(IGNORE|DELAYED|LOW_PRIORITY|HIGH_PRIORITY|INTO)$/.test(scanner.peekWord())) {
      scanner.takeWord()
      scanner.skipSpace()
    }
    this.#refuseOtherName()
    const table = scanner.name()
    const columns = scanner.peek() === 0x28 ? this.#nameList() : this.#tables.get(table)
    scanner.skipSpace()
    const isWanted = this.#options.isWanted(table)
    if (isWanted) this.#choose(table)
    else if (!this.#others.has(table)) {
      this.#others.add(table)
      this.#options.onOtherTable(table)
    }
    if (!/^VALUES?$/.test(scanner.peekWord())) {
      // `INSERT … SET` and `INSERT … SELECT` cannot be read; skipping them silently would lose
      // rows.
      if (isWanted) {
        throw new DumpError(
          `the dump has rows of ${table} in an INSERT without VALUES; create it with mysqldump`,
        )
      }
      scanner.skipStatement(this.#delimiter)
      return
    }
    scanner.takeWord()
    if (columns === undefined && isWanted) {
      throw new DumpError(
        `the columns of ${table} are not in the dump; create it with the table definitions, or with --complete-insert`,
      )
    }
    this.table = table
    this.columns = columns ?? []
    this.#isInRows = true
  }

  /** A dump of all databases of a server may contain several installations. */
  #choose(table: string): void {
    this.#chosen ??= this.#database
    if (this.#chosen !== this.#database) {
      throw new DumpError(
        `the dump contains the table ${table} in ${this.#chosen} and in ${this.#database}; dump only one of them`,
      )
    }
  }

  #nameList(): string[] {
    const { scanner } = this
    const names: string[] = []
    scanner.expect('(')
    do {
      scanner.skipSpace()
      this.#refuseOtherName()
      names.push(scanner.name())
    } while (scanner.take(','))
    scanner.expect(')')
    return names
  }

  #refuseOtherName(): void {
    const isOther = this.scanner.peek() === 0x22 || this.scanner.peekWord().startsWith('PUBLIC.')
    if (isOther && !this.#isMysql) throw namedOtherwise()
  }

  #row(): Piece {
    const { scanner } = this
    let row: Piece = NOTHING
    if (this.#options.isWanted(this.table)) row = this.#values()
    else scanner.skipBrackets()
    scanner.skipSpace()
    if (!scanner.take(',')) {
      scanner.skipStatement(this.#delimiter)
      this.#isInRows = false
    }
    return row
  }

  #values(): DumpValue[] {
    const { scanner } = this
    const values: DumpValue[] = []
    scanner.expect('(')
    do {
      scanner.skipSpace()
      values.push(scanner.value())
      scanner.skipSpace()
    } while (scanner.take(','))
    scanner.expect(')')
    if (values.length !== this.columns.length) {
      throw new DumpError(
        `a row of ${this.table} has ${values.length} values for ${this.columns.length} columns`,
      )
    }
    return values
  }

  /** Reads the columns of a table in order. */
  #create(): void {
    const { scanner } = this
    scanner.takeWord()
    scanner.skipSpace()
    if (scanner.peekWord() !== 'TABLE') {
      scanner.skipStatement(this.#delimiter)
      return
    }
    scanner.takeWord()
    scanner.skipSpace()
    while (/^(IF|NOT|EXISTS)$/.test(scanner.peekWord())) {
      scanner.takeWord()
      scanner.skipSpace()
    }
    const table = scanner.name()
    if (scanner.peek() === 0x28) this.#tables.set(table, this.#columnNames())
    scanner.skipStatement(this.#delimiter)
  }

  #columnNames(): string[] {
    const { scanner } = this
    const names: string[] = []
    scanner.expect('(')
    for (;;) {
      scanner.skipSpace()
      const isQuoted = scanner.peek() === 0x60 || scanner.peek() === 0x22
      const isKey = /^(PRIMARY|UNIQUE|KEY|INDEX|CONSTRAINT|FULLTEXT|SPATIAL|FOREIGN|CHECK)$/.test(
        scanner.peekWord(),
      )
      if (isQuoted || !isKey) names.push(scanner.name())
      if (!this.#skipDefinition()) return names
    }
  }

  /** Skips the rest of a column's definition. Returns false if it was the last. */
  #skipDefinition(): boolean {
    const { scanner } = this
    for (;;) {
      scanner.skipSpace()
      const byte = scanner.peek()
      if (byte === -1)
        throw new DumpError('the definition of a table is not closed; the dump was cut off')
      if (scanner.take(',')) return true
      if (scanner.take(')')) return false
      if (byte === 0x28) scanner.skipBrackets()
      else if (byte === 0x27 || byte === 0x22 || byte === 0x60) scanner.quoted()
      else scanner.position += 1
    }
  }
}
