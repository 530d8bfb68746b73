import { optionApi } from '../../contract/option-api.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import { serve, type Route } from '../http/handler.ts'
import { isOptionKey } from './option.ts'

export const optionRoutes = ({ options, clock }: App): Route[] => {
  return [
    serve(optionApi.list, () => ({ data: options.listed(), secrets_set: options.secretsSet() })),
    serve(optionApi.update, async (call) => {
      const { body } = call
      const before = isOptionKey(body.key) ? options.text(body.key) : ''
      await options.set(body.key, body.value, (trx) =>
        recordAudit(trx, call, {
          nowSeconds: clock.nowSeconds(),
          action: 'option.update',
          target: { id: 0, name: body.key },
          before: { [body.key]: before },
          after: { [body.key]: body.value },
        }),
      )
    }),
  ]
}
