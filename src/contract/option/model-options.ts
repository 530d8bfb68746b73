import { QUOTA_MAX } from '../quota.ts'
import type { OptionRow } from './option-row.ts'

/** Options about models: prices and capabilities. */
export const modelOptions = {
  DefaultModelRatio: {
    group: 'ratio',
    kind: 'optionalNumber',
    default: '',
    min: 0,
    max: 1_000_000,
    title: { zh: '其他模型的倍率', en: 'Ratio of other models' },
    hint: {
      zh: '没有单独定价的模型按此计费，留空则拒绝调用',
      en: 'Applied to models without a price of their own; if empty, calls to them are refused',
    },
    placeholder: {
      zh: '留空则拒绝没有定价的模型',
      en: 'Leave empty to refuse models without a price',
    },
    isOurs: true,
  },
  ModelRatio: {
    group: 'ratio',
    kind: 'ratios',
    title: { zh: '模型倍率', en: 'Model ratio' },
    hint: {
      zh: '倍率 1 即每 1M tokens 2 美元；删去的内置模型仍按内置倍率计费',
      en: 'A ratio of 1 is $2 per 1M tokens; built-in models that are not listed keep their built-in ratio',
    },
  },
  CompletionRatio: {
    group: 'ratio',
    kind: 'ratios',
    title: { zh: '补全倍率', en: 'Completion ratio' },
    hint: {
      zh: '补全价格是提示价格的几倍；没有的按模型名称推断',
      en: "Completion price as a multiple of the prompt price; if missing, it is inferred from the model's name",
    },
  },
  GroupRatio: {
    group: 'ratio',
    kind: 'groupRatios',
    title: { zh: '分组倍率', en: 'Group ratio' },
    hint: { zh: '也是可选的用户分组', en: 'These are also the groups that users can be in' },
  },
  UserUsableGroups: {
    group: 'ratio',
    kind: 'usableGroups',
    default: '{}',
    rows: 5,
    title: { zh: '令牌可选的分组', en: 'Groups for tokens' },
    hint: {
      zh: '用户可为令牌另选的分组及说明，例如 {"vip": "优先渠道"}；没有分组倍率的不生效',
      en: 'Groups that users may choose for a token besides their own, with descriptions, such as {"vip": "faster channels"}; groups without a group ratio are ignored',
    },
    isOurs: true,
  },
  CacheRatio: {
    group: 'ratio',
    kind: 'ratios',
    title: { zh: '缓存倍率', en: 'Cache ratio' },
    hint: {
      zh: '命中上游缓存的提示 tokens 按此倍率计费',
      en: "Applied to prompt tokens read from the upstream's cache",
    },
    isOurs: true,
  },
  ModelPrice: {
    group: 'price',
    kind: 'ratios',
    title: { zh: '按次价格', en: 'Price per call' },
    hint: {
      zh: '每次调用的美元价格；有此价格的模型不再按 tokens 计费',
      en: 'Dollars per call; models listed here are not priced by tokens',
    },
    isOurs: true,
  },
  CreateCacheRatio: {
    group: 'price',
    kind: 'ratios',
    title: { zh: '缓存写入倍率', en: 'Cache write ratio' },
    hint: {
      zh: '写入上游缓存的提示 tokens 按此倍率计费',
      en: "Applied to prompt tokens written to the upstream's cache",
    },
    isOurs: true,
  },
  CreateCache1hRatio: {
    group: 'price',
    kind: 'ratios',
    title: { zh: '一小时缓存写入倍率', en: 'One-hour cache write ratio' },
    hint: {
      zh: '没有的按缓存写入倍率的 1.6 倍计费',
      en: 'Models that are not listed use 1.6 times the cache write ratio',
    },
    isOurs: true,
  },
  AudioRatio: {
    group: 'price',
    kind: 'ratios',
    title: { zh: '音频输入倍率', en: 'Audio input ratio' },
    hint: {
      zh: '音频提示价格是文本提示价格的几倍',
      en: 'Audio prompt price as a multiple of the text prompt price',
    },
    isOurs: true,
  },
  AudioCompletionRatio: {
    group: 'price',
    kind: 'ratios',
    title: { zh: '音频输出倍率', en: 'Audio output ratio' },
    hint: {
      zh: '音频补全价格是音频提示价格的几倍',
      en: 'Audio completion price as a multiple of the audio prompt price',
    },
    isOurs: true,
  },
  ImageRatio: {
    group: 'price',
    kind: 'ratios',
    title: { zh: '图片输入倍率', en: 'Image input ratio' },
    hint: {
      zh: '图片提示价格是文本提示价格的几倍',
      en: 'Image prompt price as a multiple of the text prompt price',
    },
    isOurs: true,
  },
  ImageCompletionRatio: {
    group: 'price',
    kind: 'ratios',
    title: { zh: '图片输出倍率', en: 'Image output ratio' },
    hint: {
      zh: '图片补全价格是文本提示价格的几倍',
      en: 'Image completion price as a multiple of the text prompt price',
    },
    isOurs: true,
  },
  PictureRatio: {
    group: 'price',
    kind: 'ratios',
    title: { zh: '图片尺寸与质量系数', en: 'Image size and quality factors' },
    hint: {
      zh: '按张计费的图片，名称形如 dall-e-3/hd/1024x1792；一张图片为 1000 提示 tokens 乘以系数',
      en: 'For images priced per image, named like dall-e-3/hd/1024x1792; each counts as 1,000 prompt tokens times the factor',
    },
    isOurs: true,
  },
  ToolPrice: {
    group: 'price',
    kind: 'ratios',
    title: { zh: '内置工具价格', en: 'Prices of hosted tools' },
    hint: {
      zh: '上游执行一千次工具的美元价格',
      en: 'Dollars per thousand tool calls run by the upstream',
    },
    isOurs: true,
  },
  PriceTiers: {
    group: 'price',
    kind: 'priceTiers',
    rows: 10,
    title: { zh: '长上下文价格', en: 'Long-context prices' },
    hint: {
      zh: '提示超过 above 个 tokens 时，模型倍率、补全倍率和缓存倍率各乘以多少',
      en: 'Factors for the model, completion and cache ratios when the prompt has more tokens than "above"',
    },
    isOurs: true,
  },
  ProxyCallQuota: {
    group: 'price',
    kind: 'number',
    default: '0',
    min: 0,
    max: QUOTA_MAX,
    step: 1,
    unit: 'points',
    title: { zh: '代理渠道每次调用额度', en: 'Quota per proxied call' },
    isOurs: true,
  },
  ModelCapabilities: {
    group: 'model-capabilities',
    kind: 'modelCapabilities',
    default: '',
    rows: 14,
    title: { zh: '模型能力', en: 'Model capabilities' },
    hint: {
      zh: '以上游模型名称为键的 JSON，字段与 models.dev 相同，也可以直接粘贴 models.dev 的条目；* 匹配任意字符，名称后加 (渠道类型编号) 则只用于该类型的渠道。保存后下一次请求即生效',
      en: "JSON by the upstream's model name, with the members of models.dev, whose entries can be pasted. * stands for any characters; a name followed by (channel type number) is for channels of that type. Applies to the next request after saving",
    },
    placeholder: {
      zh: '{"my-model": {"reasoning": true, "reasoning_options": [{"type": "toggle"}], "limit": {"output": 64000}}}',
      en: '{"my-model": {"reasoning": true, "reasoning_options": [{"type": "toggle"}], "limit": {"output": 64000}}}',
    },
    isOurs: true,
  },
} as const satisfies Readonly<Record<string, OptionRow>>
