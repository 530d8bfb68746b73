import { QUOTA_MAX } from '../../../contract/quota.ts'
import { mark } from '../../app/i18n.ts'
import type { OptionField, OptionGroup } from '../option/option-field.ts'

const map = (key: string, label: string, hint: string): OptionField => ({
  key,
  kind: 'ratios',
  isOurs: true,
  label,
  hint,
})

/** Prices of what is not simply text. */
export const priceGroup: OptionGroup = {
  id: 'price',
  title: mark('其他计价'),
  saveLabel: mark('保存其他计价'),
  fields: [
    map(
      'ModelPrice',
      mark('按次价格'),
      mark('每次调用的美元价格；有此价格的模型不再按 tokens 计费'),
    ),
    map('CreateCacheRatio', mark('缓存写入倍率'), mark('写入上游缓存的提示 tokens 按此倍率计费')),
    map(
      'CreateCache1hRatio',
      mark('一小时缓存写入倍率'),
      mark('没有的按缓存写入倍率的 1.6 倍计费'),
    ),
    map('AudioRatio', mark('音频输入倍率'), mark('音频提示价格是文本提示价格的几倍')),
    map('AudioCompletionRatio', mark('音频输出倍率'), mark('音频补全价格是音频提示价格的几倍')),
    map('ImageRatio', mark('图片输入倍率'), mark('图片提示价格是文本提示价格的几倍')),
    map('ImageCompletionRatio', mark('图片输出倍率'), mark('图片补全价格是文本提示价格的几倍')),
    map(
      'PictureRatio',
      mark('图片尺寸与质量系数'),
      mark('按张计费的图片，名称形如 dall-e-3/hd/1024x1792；一张图片为 1000 提示 tokens 乘以系数'),
    ),
    map('ToolPrice', mark('内置工具价格'), mark('上游执行一千次工具的美元价格')),
    {
      key: 'PriceTiers',
      kind: 'long',
      rows: 10,
      isCode: true,
      isOurs: true,
      label: mark('长上下文价格'),
      hint: mark('提示超过 above 个 tokens 时，模型倍率、补全倍率和缓存倍率各乘以多少'),
    },
    {
      key: 'ProxyCallQuota',
      kind: 'number',
      min: 0,
      max: QUOTA_MAX,
      step: 1,
      isQuota: true,
      isOurs: true,
      label: mark('代理渠道每次调用额度'),
    },
  ],
}
