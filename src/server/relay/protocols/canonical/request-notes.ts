import { AppError } from '../../../app-error.ts'

/**
 * Records what does not reach the upstream as the client sent it. Readers, writers and providers
 * add notes; the client finds them in the headers `X-Gatehouse-Dropped` and `X-Gatehouse-Adjusted`,
 * an administrator in the detail of the log row.
 *
 * Rule: a parameter that only steers how the answer is made (`seed`, penalties, efforts) is left
 * out with a note. A parameter that changes what the answer is (tools, format, images, several
 * answers) is rejected with `unsupportedField`. A strict call rejects both.
 *
 * Fields are named as the client names them: `generationConfig.seed` for a client of Gemini.
 */
export class RequestNotes {
  private readonly isStrict: boolean
  private readonly droppedFields = new Set<string>()
  private readonly adjustedFields = new Set<string>()

  /** Stop texts that the upstream does not accept: the relay cuts the answer at them. */
  private readonly stopTexts = new Set<string>()

  /** Whether hosted tools are left out if the upstream does not have them. */
  readonly dropsHostedTools: boolean

  constructor(isStrict = false, dropsHostedTools = false) {
    this.isStrict = isStrict
    this.dropsHostedTools = dropsHostedTools
  }

  /** Notes a parameter that the upstream does not have. Throws a 400 if the call is strict. */
  drop(field: string): void {
    this.refuseIfStrict(field)
    this.reportDropped(field)
  }

  /** Notes a parameter that is sent with another value or as text. Throws if the call is strict. */
  adjust(field: string): void {
    this.refuseIfStrict(field)
    this.reportAdjusted(field)
  }

  /**
   * Notes a parameter that is always left out, even in a strict call: a hint such as a user's name,
   * or a value that clients send with every request and cannot turn off.
   */
  reportDropped(field: string): void {
    this.droppedFields.add(field)
  }

  /** Notes a parameter whose value is always changed, even in a strict call. */
  reportAdjusted(field: string): void {
    this.adjustedFields.add(field)
  }

  /** Lets the relay cut the answer at stop texts that the upstream does not accept. */
  cutAt(texts: readonly string[]): void {
    for (const text of texts) if (text !== '') this.stopTexts.add(text)
  }

  get stops(): readonly string[] {
    return [...this.stopTexts]
  }

  get dropped(): readonly string[] {
    return [...this.droppedFields]
  }

  get adjusted(): readonly string[] {
    return [...this.adjustedFields]
  }

  private refuseIfStrict(field: string): void {
    if (this.isStrict) throw new AppError('relay_field_unsupported', { field })
  }
}

/** Response headers that report the notes: names and values in turn; empty if nothing is noted. */
export function noteHeaders(notes: RequestNotes | null): string[] {
  if (notes === null) return []
  return [
    ...header('X-Gatehouse-Dropped', notes.dropped),
    ...header('X-Gatehouse-Adjusted', notes.adjusted),
  ]
}

const header = (name: string, fields: readonly string[]): string[] =>
  fields.length === 0 ? [] : [name, fields.join(',')]

/** The notes as members of a log row's detail; empty if nothing is noted. */
export function noteMembers(notes: RequestNotes | null): {
  dropped?: string[]
  adjusted?: string[]
} {
  return {
    ...(notes === null || notes.dropped.length === 0 ? {} : { dropped: [...notes.dropped] }),
    ...(notes === null || notes.adjusted.length === 0 ? {} : { adjusted: [...notes.adjusted] }),
  }
}
