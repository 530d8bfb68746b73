/** Where clients of Jina and Cohere rank whose base URL ends before `/v1`. */
export const RERANK_ALIASES: readonly string[] = ['/rerank', '/v2/rerank']

/** Where the addresses that programs call begin; `/v1beta` and `/v1alpha` are Gemini's. */
export const RELAY_PREFIXES: readonly string[] = [
  '/v1',
  '/v1beta',
  '/v1alpha',
  '/dashboard/billing',
  ...RERANK_ALIASES,
]
