const NAME_LENGTH_MAX = 200

/**
 * Names of the documents of a request, each of which must have one of its own: "Messages can't
 * contain duplicate document names". They may hold letters, digits, single blanks, hyphens and
 * brackets. Source: Amazon Bedrock API reference, "DocumentBlock".
 */
export class DocumentNames {
  private readonly taken = new Set<string>()

  nameOf(title: string | null): string {
    const name = plain(title ?? '') || 'document'
    let unique = name
    for (let number = 2; this.taken.has(unique.toLowerCase()); number += 1) {
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
