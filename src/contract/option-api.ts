import { z } from 'zod'
import { get, put } from './endpoint.ts'

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
  update: put('/api/option/', {
    access: 'admin',
    raisedBy: 'OPTIONS_MIN_ROLE',
    body: OptionRow,
    misfit: 'option_undecodable',
  }),
}
