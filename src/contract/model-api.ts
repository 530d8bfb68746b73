import { z } from 'zod'
import { del, get, post } from './endpoint.ts'

/** Data set of models.dev. */
const MODELS_DEV = 'https://models.dev/api.json'

const ModelName = z.string().meta({ description: 'Name of the model.', example: 'gpt-4o-mini' })
const Capabilities = z.string().meta({
  description: 'What the model can do, a JSON object in the schema of models.dev.',
  example: '{"reasoning":true,"limit":{"output":64000}}',
})

const ModelData = z
  .object({
    source: z.string().meta({
      description: 'Where the data comes from, and its state.',
      example: 'models.dev (2026-07-02)',
    }),
    models: z.int().meta({ description: 'How many models it has.', example: 895 }),
    is_refreshed: z.boolean().meta({
      description: 'Whether it was fetched; else it is the data of this version.',
      example: false,
    }),
  })
  .meta({ id: 'ModelData', description: 'The data about models that is in force.' })

const Names = z.array(ModelName)

const ModelDataChange = z
  .object({
    source: z.string().meta({ description: 'Where the data comes from.', example: MODELS_DEV }),
    models: z.int().meta({ description: 'How many models it has.', example: 930 }),
    added: Names.describe('Models that the data in force does not have.'),
    changed: Names.describe('Models of which it says something else.'),
    removed: Names.describe('Models that it does not have any more.'),
  })
  .meta({ id: 'ModelDataChange', description: 'How fetched data differs from that in force.' })

const MatchedModel = z
  .object({
    model: ModelName,
    type: z.int().meta({ description: 'Type of the channels that serve it.', example: 1 }),
    entries: z.array(z.string()).meta({
      description: 'The entries that apply to it, the strongest last.',
      example: ['gpt-4o*'],
    }),
    before: Capabilities.describe('What it can do without these entries, as a JSON object.'),
    after: Capabilities.describe('What it can do with them, as a JSON object.'),
  })
  .meta({ id: 'MatchedModel', description: 'A model that entries apply to.' })
export type MatchedModel = z.infer<typeof MatchedModel>

export const modelApi = {
  data: get('/api/model-capabilities', {
    name: 'getModelData',
    summary: 'Where the data about models comes from.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: ModelData,
  }),
  preview: post('/api/model-capabilities/preview', {
    name: 'previewModelCapabilities',
    summary:
      'Checks entries for the setting ModelCapabilities and tells which served models they apply to. Changes nothing.',
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
        matched: z.array(MatchedModel).describe('Served models that entries apply to.'),
        unmatched: z.array(z.string()).meta({
          description: 'Entries that apply to no served model.',
          example: ['my-model'],
        }),
      })
      .meta({ id: 'ModelPreview', description: 'What entries would change.' }),
  }),
  refresh: post('/api/model-capabilities/refresh', {
    name: 'refreshModelData',
    summary: 'Fetches the data about models from models.dev, compares it and, if told to, uses it.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    body: z
      .object({
        address: z.string().max(2048).default(MODELS_DEV).meta({
          description: 'Address of the data.',
          example: MODELS_DEV,
        }),
        dry_run: z.boolean().default(false).meta({
          description: 'Only compare; nothing changes.',
          example: true,
        }),
      })
      .meta({ id: 'ModelDataRefresh', description: 'Which data to fetch.' }),
    data: ModelDataChange,
  }),
  reset: del('/api/model-capabilities/refresh', {
    name: 'resetModelData',
    summary: 'Goes back to the data about models that this version brings along.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
  }),
}
