import { optionApi } from '../../contract/option-api.ts'
import { isOptionKey } from '../../contract/option/options.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import { serve, type Route } from '../http/handler.ts'

export const optionRoutes = ({ options, clock }: App): Route[] => {
  return [
    serve(optionApi.list, () => ({ data: options.listed(), secrets_set: options.secretsSet() })),
    serve(optionApi.update, async (call) => {
      const { key = '', value = '' } = call.body
      if (key === '') throw new AppError('invalid_parameter')
      const before = isOptionKey(key) ? options.text(key) : ''
      await options.set(key, value, (trx, emptied) =>
        recordAudit(trx, call, {
          nowSeconds: clock.nowSeconds(),
          action: 'option.update',
          target: { id: 0, name: key },
          before: { [key]: before, ...(emptied !== null && { [emptied]: options.text(emptied) }) },
          after: { [key]: value, ...(emptied !== null && { [emptied]: '' }) },
        }),
      )
    }),
  ]
}
