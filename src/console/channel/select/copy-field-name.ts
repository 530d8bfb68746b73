import type { TFunction } from 'i18next'
import { type CopyField, typeFieldOf } from '../../../contract/channel-copy.ts'
import { localText, mark } from '../../app/i18n.ts'

const names: Partial<Record<CopyField, string>> = {
  models: mark('模型'),
  model_mapping: mark('模型重定向'),
  group: mark('分组'),
  priority: mark('优先级'),
  weight: mark('权重'),
  system_prompt: mark('系统提示词'),
  test_model: mark('测试模型'),
  param_override: mark('参数覆盖'),
  header_override: mark('请求头覆盖'),
}

/** Label of a field as in the channel form: fields of a type have the type's label. */
export function copyFieldName(field: CopyField, type: number, t: TFunction): string {
  const name = names[field]
  const own = typeFieldOf(type, field)
  if (name !== undefined) return t(name)
  return own === undefined ? field : localText(own.label)
}
