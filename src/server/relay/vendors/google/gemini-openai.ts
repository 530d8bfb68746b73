import { embeddedInParts } from '../shared/embedding-parts.ts'
import { BATCH_MAX } from './embedding-batches.ts'
import { inSteps } from '../../transport/upstream-steps.ts'
import { openaiModelList, withoutModelsPrefix } from '../shared/model-list.ts'
import { embeds, openaiVendor } from '../openai-vendor.ts'
import { gemini } from './gemini.ts'

const embedding = inSteps(embeddedInParts(() => BATCH_MAX))

export const geminiOpenai = openaiVendor({
  type: 51,
  label: 'Gemini (OpenAI)',
  color: 'orange',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
  pathPrefix: '',
  modelVendor: 'google',
  listPosition: 90,
  call: { via: (_channel, { task }) => (embeds(task) ? embedding : null) },
  // The model list has Google's `models/` prefix, too (OpenCoworkAI/open-codesign#186).
  modelList: {
    ...openaiModelList,
    shape: openaiModelList.shape.transform((listed) => listed.map(withoutModelsPrefix)),
  },
  models: gemini.models ?? [],
})
