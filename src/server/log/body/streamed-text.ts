import { bytesWanted } from './body.ts'

/**
 * A piece of a streamed response. A lane is one of several texts that are streamed in parallel.
 * `tool`: name of the tool whose call starts with this piece.
 */
export interface StreamedPiece {
  lane: number
  text: string
  tool?: string
}

/**
 * Collects the readable text of a streamed response: its lanes one after the other, each tool call
 * on its own line. If the text is long, only its beginning and its newest part.
 */
export class StreamedText {
  private readonly lanes = new Map<number, string>()
  private readonly wanted: { head: number; tail: number }
  private headLength = 0
  private tail = ''
  private tailLane = 0

  constructor(bytesMax: number) {
    this.wanted = bytesWanted(bytesMax)
  }

  add(piece: StreamedPiece): void {
    const { lane } = piece
    if (this.headLength <= this.wanted.head) {
      const before = this.lanes.get(lane) ?? ''
      const shown = shownPiece(piece, before)
      this.headLength += shown.length
      this.lanes.set(lane, before + shown)
      return
    }
    if (this.tail !== '' && lane !== this.tailLane) this.tail += '\n\n'
    this.tailLane = lane
    this.tail += shownPiece(piece, this.tail)
    // Cut only occasionally, because a stream has thousands of pieces.
    const { tail } = this.wanted
    if (this.tail.length > 2 * tail) this.tail = this.tail.slice(-tail)
  }

  get length(): number {
    return this.headLength + this.tail.length
  }

  seen(): { head: string; tail: string } {
    const { tail, wanted } = this
    const head = [...this.lanes.values()].join('\n\n')
    // A short end directly follows the beginning.
    return tail.length < wanted.tail ? { head: head + tail, tail: '' } : { head, tail }
  }
}

/** `before`: text before the piece, which decides whether a new line is needed. */
function shownPiece({ text, tool }: StreamedPiece, before: string): string {
  if (tool === undefined) return text
  const given = text.startsWith(tool) ? text.slice(tool.length) : text
  return `${before === '' || before.endsWith('\n') ? '' : '\n'}[tool: ${tool}] ${given}`
}
