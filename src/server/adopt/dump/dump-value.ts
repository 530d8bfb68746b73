import type { ColumnKind } from '../one-api-tables.ts'

/** A dump that cannot be loaded; the message is for the operator. */
export class DumpError extends Error {}

/** A literal of a dump. Integers beyond 2^53 are bigints; bytes come from hexadecimal. */
export type DumpValue = string | number | bigint | boolean | Buffer | null

/** Counts of values that were changed while loading. */
export interface Repairs {
  /** Texts with invalid bytes for the dump's character set. */
  undecodable: number
  /** NUL characters, which PostgreSQL cannot store. */
  nuls: number
  /** Invalid numbers and flags. */
  misfits: number
}

/** Character that a decoder writes for invalid bytes. */
const REPLACEMENT = '\u{fffd}'

/** Converts a value for a column of this kind. */
export function columnValue(
  value: DumpValue,
  kind: ColumnKind,
  { keepsNul, repairs }: { keepsNul: boolean; repairs: Repairs },
): string | number | bigint | boolean | null {
  if (value === null) return null
  switch (kind) {
    case 'whole':
      return wholeOf(value, repairs)
    case 'real':
      return numberOf(value, repairs)
    case 'flag':
      return isOn(value, repairs)
    case 'text':
    case 'char32':
    case 'char48': {
      const text = textOf(value)
      if (text.includes(REPLACEMENT)) repairs.undecodable += 1
      if (keepsNul || !text.includes('\0')) return text
      repairs.nuls += 1
      return text.replaceAll('\0', '')
    }
    default:
      return kind satisfies never
  }
}

/** MySQL writes flags as numbers. Treating an unknown word as false would remove a permission. */
function isOn(value: Exclude<DumpValue, null>, repairs: Repairs): boolean {
  if (typeof value === 'string' && /^[a-z]+$/i.test(value)) {
    throw new DumpError(
      `a flag is "${value}" where MySQL has 1 or 0; create the dump with mysqldump`,
    )
  }
  return numberOf(value, repairs) !== 0
}

const textOf = (value: Exclude<DumpValue, null>): string => {
  if (typeof value === 'boolean') return value ? '1' : '0'
  return Buffer.isBuffer(value) ? value.toString() : String(value)
}

/** MySQL reads bytes as a number; bit columns are dumped like this. */
function numberOf(value: Exclude<DumpValue, null>, repairs: Repairs): number {
  const number = Buffer.isBuffer(value) ? Number(bigOf(value)) : Number(value)
  if (Number.isFinite(number)) return number
  repairs.misfits += 1
  return 0
}

function wholeOf(value: Exclude<DumpValue, null>, repairs: Repairs): number | bigint {
  if (typeof value === 'bigint') return withinColumn(value)
  const number = numberOf(value, repairs)
  if (Number.isSafeInteger(number)) return number
  if (Number.isInteger(number)) return withinColumn(BigInt(number))
  repairs.misfits += 1
  return Math.trunc(number)
}

/** Largest value of a column on both databases; MySQL's unsigned columns hold twice as much. */
const INT64_MAX = 2n ** 63n - 1n

/** Limits a number to 64 bits. Adoption corrects values out of range and reports them. */
const withinColumn = (value: bigint): bigint =>
  value > INT64_MAX ? INT64_MAX : value < -INT64_MAX ? -INT64_MAX : value

const bigOf = (bytes: Buffer): bigint =>
  BigInt(bytes.length === 0 ? 0 : `0x${bytes.toString('hex')}`)
