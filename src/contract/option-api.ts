import { z } from 'zod'
import { get, put } from './endpoint.ts'
import { optional } from './wire.ts'

const OptionRow = z.object({
  key: z.string().meta({ examples: ['SystemName'] }),
  value: z.string().meta({ examples: ['Gatehouse'] }),
})

export const optionApi = {
  list: get('/api/option/', {
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    data: z.array(OptionRow),
    /** Secret options that hold a value; the values are never sent. */
    extra: z.object({ secrets_set: z.array(z.string()).meta({ examples: [['SMTPToken']] }) }),
  }),
  /** A member that is missing counts as empty. */
  update: put('/api/option/', {
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    body: z.object({ key: optional(OptionRow.shape.key), value: optional(OptionRow.shape.value) }),
    misfit: 'option_undecodable',
  }),
}
