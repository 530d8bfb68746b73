import { optionApi } from '../../contract/option-api.ts'
import { isOptionKey, optionRows } from '../../contract/option/options.ts'
import { isRoot } from '../../contract/user.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { recordAudit } from '../audit/audit-store.ts'
import { serve, type Route } from '../http/handler.ts'

export const optionRoutes = ({ options, clock }: App): Route[] => {
  return [
    serve(optionApi.list, ({ actor }) => ({
      data: options.listed().filter(({ key }) => maySee(actor.role, key)),
      secrets_set: options.secretsSet().filter((key) => maySee(actor.role, key)),
    })),
    serve(optionApi.update, async (call) => {
      const { key = '', value = '' } = call.body
      if (key === '') throw new AppError('invalid_parameter')
      if (!maySee(call.actor.role, key)) throw new AppError('role_too_low')
      const before = isOptionKey(key) ? options.text(key) : ''
      await options.set(key, value, (trx, { stored, emptied }) =>
        recordAudit(trx, call, {
          nowSeconds: clock.nowSeconds(),
          action: 'option.update',
          target: { id: 0, name: key },
          before: { [key]: before, ...(emptied !== null && { [emptied]: options.text(emptied) }) },
          after: { [key]: stored, ...(emptied !== null && { [emptied]: '' }) },
        }),
      )
    }),
  ]
}

/** Whether an account with this role sees and changes the option. */
const maySee = (role: number, key: string): boolean =>
  !isOptionKey(key) || optionRows[key].isRootOnly !== true || isRoot(role)
