/** Rerank paths without `/v1`, for clients of Jina and Cohere with such a base URL. */
export const RERANK_ALIASES: readonly string[] = ['/rerank', '/v2/rerank']

/** First path segments of the relay; `/v1beta` and `/v1alpha` are Gemini's. */
export const RELAY_PREFIXES: readonly string[] = [
  '/v1',
  '/v1beta',
  '/v1alpha',
  '/dashboard/billing',
  ...RERANK_ALIASES,
]
