import { jsonAnswer, type Answer } from '../answer.ts'
import { textOf, type Call } from '../call.ts'
import { produceNative, textsOf } from '../dialects/native-wishes.ts'

const MEMBERS = new Set(
  (
    'text target_lang source_lang context show_billed_characters split_sentences ' +
    'preserve_formatting formality model_type glossary_id tag_handling'
  ).split(' '),
)
const LANGUAGES = new Set(
  'AR BG CS DA DE EL EN EN-GB EN-US ES FR JA PT-BR PT-PT ZH ZH-HANS ZH-HANT'.split(' '),
)
const FORMALITIES = new Set([undefined, 'default', 'more', 'less', 'prefer_more', 'prefer_less'])

/** `POST /v2/translate`. */
export function deeplTranslateAnswer(call: Call): Answer {
  const problem = problemOf(call)
  if (problem !== null) return problem
  const { json, directives } = call
  const isCounted = json.show_billed_characters === true && directives.usage !== 'never'
  const translations = textsOf(json.text).map((text) => {
    const { pieces } = produceNative(call, {
      tools: [],
      choice: null,
      lastWords: text,
      schema: null,
      wantsJson: false,
      maxTokens: undefined,
      stops: [],
    })
    return {
      detected_source_language: 'EN',
      text: pieces.join(''),
      ...(isCounted ? { billed_characters: [...text].length } : {}),
    }
  })
  return jsonAnswer({ translations })
}

function problemOf({ json, authorization }: Call): Answer | null {
  const wrong = (message: string): Answer => jsonAnswer({ message }, 400)
  // The error for an invalid key has no body.
  if (!/^DeepL-Auth-Key \S+$/.test(authorization)) return { ...wrong(''), ...FORBIDDEN }
  const stranger = Object.keys(json).find((name) => !MEMBERS.has(name))
  if (stranger !== undefined) return wrong(`Bad request. Reason: '${stranger}' is not allowed.`)
  if (textsOf(json.text).length === 0) return wrong("Parameter 'text' not specified.")
  if (!LANGUAGES.has(textOf(json.target_lang) ?? '')) {
    return wrong("Value for 'target_lang' not supported.")
  }
  return FORMALITIES.has(textOf(json.formality)) ? null : wrong("Value for 'formality' is wrong.")
}

const FORBIDDEN = { kind: 'whole', status: 403, headers: {}, body: Buffer.alloc(0) } as const

/** `GET /v2/usage`. */
export const deeplUsageAnswer = (): Answer =>
  jsonAnswer({ character_count: 180_118, character_limit: 1_250_000 })
