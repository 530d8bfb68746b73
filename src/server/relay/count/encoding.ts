import type { MeteringFigures } from '../../model/capabilities.ts'
import { meteringFigures } from '../../model/model-table.ts'

/** A vocabulary of OpenAI's tokenizers. */
export type EncodingName = NonNullable<MeteringFigures['tokenizer']>

/** o200k since GPT-4o; the older models, and as an approximation everybody else's, cl100k. */
export const encodingOf = (model: string): EncodingName =>
  // Fine-tuned models have their base model behind a prefix.
  meteringFigures(model.replace(/^ft:/, '')).tokenizer ?? 'cl100k_base'
