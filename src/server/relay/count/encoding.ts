import type { MeteringFigures } from '../../model/capabilities.ts'
import { meteringFigures } from '../../model/model-table.ts'

/** A vocabulary of OpenAI's tokenizers. */
export type EncodingName = NonNullable<MeteringFigures['tokenizer']>

/**
 * Returns the vocabulary: o200k since GPT-4o; cl100k for older models, and as an approximation for
 * other makers'.
 */
export const encodingOf = (model: string): EncodingName =>
  // Names of fine-tuned models have the base model after a prefix.
  meteringFigures(model.replace(/^ft:/, '')).tokenizer ?? 'cl100k_base'
