import { bytesWanted } from './body.ts'

/**
 * A piece of a streamed answer. A lane is one of several texts that come side by side; `tool`: with
 * this piece a call of the tool of this name begins.
 */
export interface StreamedPiece {
  lane: number
  text: string
  tool?: string
}

/**
 * What a streamed answer says, for reading: its lanes one after the other, each call of a tool on a
 * line of its own. Of a long one the beginning, and what came last.
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
    // Cut now and then only: a stream has thousands of pieces.
    const { tail } = this.wanted
    if (this.tail.length > 2 * tail) this.tail = this.tail.slice(-tail)
  }

  get length(): number {
    return this.headLength + this.tail.length
  }

  seen(): { head: string; tail: string } {
    const { tail, wanted } = this
    const head = [...this.lanes.values()].join('\n\n')
    // A short end continues the beginning.
    return tail.length < wanted.tail ? { head: head + tail, tail: '' } : { head, tail }
  }
}

/** `before`: what stands on the same line. */
function shownPiece({ text, tool }: StreamedPiece, before: string): string {
  if (tool === undefined) return text
  const given = text.startsWith(tool) ? text.slice(tool.length) : text
  return `${before === '' || before.endsWith('\n') ? '' : '\n'}[tool: ${tool}] ${given}`
}
