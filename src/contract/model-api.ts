import { z } from 'zod'
import { del, get, post } from './endpoint.ts'

/** Data set of models.dev. */
const MODELS_DEV = 'https://models.dev/api.json'

const ModelName = z.string().meta({ description: 'Name of the model.', example: 'gpt-4o-mini' })
const Capabilities = z.string().meta({
  description: 'Capabilities of the model, a JSON object in the schema of models.dev.',
  example: '{"reasoning":true,"limit":{"output":64000}}',
})

const ModelData = z
  .object({
    source: z.string().meta({
      description: 'Source and version of the data.',
      example: 'models.dev (2026-07-02)',
    }),
    models: z.int().meta({ description: 'Number of models.', example: 895 }),
    is_refreshed: z.boolean().meta({
      description: 'Whether the data was fetched; otherwise it is built in.',
      example: false,
    }),
  })
  .meta({ id: 'ModelData', description: 'The current model data.' })

const Names = z.array(ModelName)

const ModelDataChange = z
  .object({
    source: z.string().meta({ description: 'Source of the data.', example: MODELS_DEV }),
    models: z.int().meta({ description: 'Number of models.', example: 930 }),
    added: Names.describe('Models that the current data lacks.'),
    changed: Names.describe('Models with changed data.'),
    removed: Names.describe('Models that are no longer included.'),
  })
  .meta({
    id: 'ModelDataChange',
    description: 'Differences of fetched data from the current data.',
  })

const MatchedModel = z
  .object({
    model: ModelName,
    type: z.int().meta({ description: 'Type of the channels that serve the model.', example: 1 }),
    entries: z.array(z.string()).meta({
      description: 'Entries that apply to the model, in ascending precedence.',
      example: ['gpt-4o*'],
    }),
    before: Capabilities.describe('Capabilities without these entries, as a JSON object.'),
    after: Capabilities.describe('Capabilities with these entries, as a JSON object.'),
  })
  .meta({ id: 'MatchedModel', description: 'A model to which entries apply.' })
export type MatchedModel = z.infer<typeof MatchedModel>

export const modelApi = {
  data: get('/api/model-capabilities', {
    name: 'getModelData',
    summary: 'Source of the model data.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: ModelData,
  }),
  preview: post('/api/model-capabilities/preview', {
    name: 'previewModelCapabilities',
    summary:
      'Validates entries for the setting ModelCapabilities and returns the served models to which they apply. Changes nothing.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    bodyClass: 'bulk',
    body: z
      .object({
        entries: z
          .string()
          .meta({ description: 'A JSON object of entries.', example: '{"gpt-4o*":{}}' }),
      })
      .meta({ id: 'ModelEntries', description: 'Entries for the setting ModelCapabilities.' }),
    data: z
      .object({
        matched: z.array(MatchedModel).describe('Served models to which entries apply.'),
        unmatched: z.array(z.string()).meta({
          description: 'Entries that apply to no served model.',
          example: ['my-model'],
        }),
      })
      .meta({ id: 'ModelPreview', description: 'Effect of the entries.' }),
  }),
  refresh: post('/api/model-capabilities/refresh', {
    name: 'refreshModelData',
    summary: 'Fetches model data from models.dev, compares it, and optionally applies it.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    body: z
      .object({
        address: z.string().max(2048).default(MODELS_DEV).meta({
          description: 'Address of the data.',
          example: MODELS_DEV,
        }),
        dry_run: z.boolean().default(false).meta({
          description: 'True: only compares; changes nothing.',
          example: true,
        }),
      })
      .meta({ id: 'ModelDataRefresh', description: 'Data to fetch.' }),
    data: ModelDataChange,
  }),
  reset: del('/api/model-capabilities/refresh', {
    name: 'resetModelData',
    summary: 'Restores the built-in model data.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
  }),
}
