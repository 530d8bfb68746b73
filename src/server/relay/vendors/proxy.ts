import { nativeVendor } from './vendor.ts'

/** Passes requests on unchanged: see `relay/proxy/`. */
export const proxy = nativeVendor({
  type: 43,
  label: 'Proxy',
  color: 'blue',
  protocol: 'proxy',
  key: {
    placeholder: {
      zh: '完整的 Authorization 值，例如 Bearer sk-…',
      en: 'The whole Authorization value, such as Bearer sk-…',
    },
  },
  baseUrlField: { mode: 'required', label: { zh: '上游地址', en: 'Upstream address' } },
  hiddenFields: ['models', 'model_mapping', 'system_prompt'],
  needsModels: false,
  notice: {
    zh: '请求原样转发到上游，不检查模型，也不按用量计费',
    en: 'Calls are passed on as they are: no model is checked and usage is not priced',
  },
  listPosition: 360,
  provider: null,
})
