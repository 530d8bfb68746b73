/** Region prefix of Bedrock, before the maker's name: `eu.anthropic.claude-…`. */
const BEDROCK_REGION = /^(?:us|us-gov|eu|apac|ap|au|ca|jp|global)\./
const BEDROCK_MAKER =
  /^(?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshotai?|nvidia|openai|qwen|writer|zai)\./
const BEDROCK_VERSION = /-v\d+(?::\d+)?$/
/** OpenRouter's variants of a model. Source: OpenRouter's documentation, "Model Variants". */
const VARIANT = /:(?:free|nitro|floor|thinking|online|exacto|extended|beta)$/

/**
 * Returns the key of a model in the model data, independent of its host: lower case, without the
 * maker's path or prefix, region, variant and Vertex's version separator.
 * `eu.anthropic.claude-opus-4-5-20251101-v1:0` and `claude-opus-4-5@20251101` both become
 * `claude-opus-4-5-20251101`.
 */
export function modelKey(model: string): string {
  const name = model.toLowerCase().split('/').at(-1) ?? ''
  return name
    .replace(BEDROCK_REGION, '')
    .replace(BEDROCK_MAKER, '')
    .replace(BEDROCK_VERSION, '')
    .replace(VARIANT, '')
    .replace('@', '-')
}

/**
 * Vendors use dots or hyphens in the name of the same model: `claude-opus-4.7`, `claude-opus-4-7`.
 */
export const withHyphens = (key: string): string => key.replaceAll('.', '-')
