import { names, nativeVendor } from './vendor.ts'

export const palm = nativeVendor({
  type: 11,
  label: { zh: 'PaLM2', en: 'Google PaLM 2' },
  color: 'orange',
  baseUrl: 'https://generativelanguage.googleapis.com',
  protocol: 'palm',
  notice: {
    zh: '谷歌已停止这项服务，请改用 Gemini',
    en: 'Google has ended this service; use Gemini instead',
  },
  legacy: true,
  retired: true,
  listPosition: 70,
  provider: null,
  models: names(`
    PaLM-2
  `),
  owner: 'google palm',
  ownerRank: 24,
})
