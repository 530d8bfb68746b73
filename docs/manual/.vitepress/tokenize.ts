/** A run of Chinese characters, or of letters and digits of other scripts. */
// oxlint-disable-next-line gatehouse/linear-pattern -- our own documents
const RUN = /\p{Script=Han}+|[\p{L}\p{N}_]+?(?=\p{Script=Han}|[^\p{L}\p{N}_]|$)/gu
const IS_CHINESE = /^\p{Script=Han}/u

/**
 * Splits a text into search terms. Chinese has no spaces between words, so each pair of
 * neighbouring characters is a term: "反向代理" becomes 反向, 向代 and 代理. The index and the query are
 * split alike.
 */
export function tokenize(text: string): string[] {
  return (text.match(RUN) ?? []).flatMap((run) => {
    if (!IS_CHINESE.test(run)) return [run]
    const characters = [...run]
    if (characters.length === 1) return [run]
    return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
  })
}
