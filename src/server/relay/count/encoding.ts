/** A vocabulary of OpenAI's tokenizers. */
export type EncodingName = 'o200k_base' | 'cl100k_base'

/** o200k since GPT-4o; the older models, and as an approximation everybody else's, cl100k. */
export function encodingOf(model: string): EncodingName {
  // Routers prefix the maker (`openai/`), fine-tuning `ft:`.
  const name = model.slice(model.lastIndexOf('/') + 1).replace(/^ft:/, '')
  return O200K_MODEL.test(name) ? 'o200k_base' : 'cl100k_base'
}
/** Whatever is called GPT but 2, 3 and 4 themselves. */
const O200K_MODEL = /^(?:gpt-(?!2|3|4(?![o.]))|chatgpt-|o\d|codex-mini|computer-use)/
