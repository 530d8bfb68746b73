import { invalidField, unsupportedField, type Members } from '../canonical/reading.ts'

/**
 * What a vector is for: some models make one kind of questions and another of what answers them. It
 * is kept in Gemini's words, which tell most uses apart; OpenAI has none, and its clients use those
 * of others. Sources: Gemini API reference, "TaskType"; Cohere's API reference, v2, "Embed",
 * `input_type`.
 */
const INPUT_TYPE = 'input_type'
const TASK_TYPE = 'task_type'
const UNSPECIFIED = 'TASK_TYPE_UNSPECIFIED'

/** For each of Cohere's words Gemini's. */
const TASKS: ReadonlyMap<string, string> = new Map([
  ['search_document', 'RETRIEVAL_DOCUMENT'],
  ['search_query', 'RETRIEVAL_QUERY'],
  ['classification', 'CLASSIFICATION'],
  ['clustering', 'CLUSTERING'],
])

/** For each of Gemini's Cohere's, to whom all questions are alike. */
const INPUT_TYPES: ReadonlyMap<string, string> = new Map([
  ...[...TASKS].map(([inputType, task]) => [task, inputType] as const),
  ['QUESTION_ANSWERING', 'search_query'],
  ['FACT_VERIFICATION', 'search_query'],
  ['CODE_RETRIEVAL_QUERY', 'search_query'],
  ['SEMANTIC_SIMILARITY', 'clustering'],
])

/** Cohere must be told, and most of those who do not say it keep what they embed. */
const USUAL_INPUT_TYPE = 'search_document'

/** Null: the client does not say. */
export function purposeIn(request: Members): string | null {
  const inputType = request.text(INPUT_TYPE)
  const task = request.text(TASK_TYPE)
  if (inputType === null) return task === UNSPECIFIED ? null : task
  const meant = TASKS.get(inputType)
  if (meant === undefined) throw invalidField(INPUT_TYPE)
  if (task !== null && task !== meant) throw invalidField(TASK_TYPE)
  return meant
}

export function inputTypeOf(purpose: string | null): string {
  if (purpose === null) return USUAL_INPUT_TYPE
  const inputType = INPUT_TYPES.get(purpose)
  if (inputType === undefined) throw unsupportedField(TASK_TYPE)
  return inputType
}
