import { z } from 'zod'
import { get, put } from './endpoint.ts'
import { isProvenOption } from './option/options.ts'
import { needed, optional } from './wire.ts'

const Key = z.string().meta({ description: 'Name of the setting.', example: 'SystemName' })
const Value = z.string().meta({
  description: 'Value as text, even if it is a number, a switch or a JSON object.',
  example: 'Gatehouse',
})

const OptionRow = z
  .object({ key: Key, value: Value })
  .meta({ id: 'Option', description: 'A setting of the installation.' })

export const optionApi = {
  list: get('/api/option/', {
    name: 'listOptions',
    summary: 'All settings except secrets.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: z.array(OptionRow),
    extra: z.object({
      secrets_set: z.array(z.string()).meta({
        description: 'Secret settings that hold a value; the values are never sent.',
        example: ['SMTPToken'],
      }),
    }),
  }),
  update: put('/api/option/', {
    name: 'setOption',
    summary: 'Changes a setting; an invalid value is refused.',
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    needsProof: ({ body }) => isProvenOption(String(body['key'])),
    bodyClass: 'bulk',
    body: z
      .object({
        key: needed(Key),
        value: optional(Value).describe('Value as text; empty if omitted.'),
      })
      .meta({ id: 'OptionChange', description: 'A setting and its new value.' }),
    misfit: 'option_undecodable',
  }),
}
