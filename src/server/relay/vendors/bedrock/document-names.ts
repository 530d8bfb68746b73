const NAME_LENGTH_MAX = 200
/** Length of a name that leaves room for a space and a number. */
const STEM_LENGTH = NAME_LENGTH_MAX - 7

/**
 * Unique names for the documents of a request: "Messages can't contain duplicate document names".
 * They may contain letters, digits, single spaces, hyphens and brackets. Source: Amazon Bedrock API
 * reference, "DocumentBlock".
 */
export class DocumentNames {
  private readonly taken = new Set<string>()
  /** Last number by stem, which avoids a search for a free name. */
  private readonly numbers = new Map<string, number>()

  nameOf(title: string | null): string {
    const name = plain(title ?? '') || 'document'
    const stem = name.slice(0, STEM_LENGTH).toLowerCase()
    let unique = name
    while (this.taken.has(unique.toLowerCase())) {
      const number = (this.numbers.get(stem) ?? 1) + 1
      this.numbers.set(stem, number)
      const ending = ` ${number}`
      unique = cut(name, NAME_LENGTH_MAX - ending.length) + ending
    }
    this.taken.add(unique.toLowerCase())
    return unique
  }
}

const plain = (title: string): string =>
  cut(title.replace(/[^A-Za-z0-9()[\]-]+/g, ' ').trim(), NAME_LENGTH_MAX)

const cut = (name: string, length: number): string => name.slice(0, length).trimEnd()
