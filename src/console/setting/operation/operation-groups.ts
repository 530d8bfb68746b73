import { QUOTA_MAX } from '../../../contract/quota.ts'
import { DEFAULT_GROUP } from '../../../contract/user.ts'
import { mark } from '../../app/i18n.ts'
import type { OptionGroup } from '../option/option-field.ts'

/** Quota points that an option may hold at most. */
const quota = { kind: 'number', min: 0, max: QUOTA_MAX, step: 1, isQuota: true } as const

export const generalGroup: OptionGroup = {
  id: 'general',
  title: mark('通用'),
  saveLabel: mark('保存通用设置'),
  fields: [
    {
      key: 'TopUpLink',
      kind: 'address',
      label: mark('充值链接'),
      hint: mark('用户点击「充值」时打开'),
      placeholder: mark('例如发卡网站的购买链接'),
    },
    {
      key: 'ChatLink',
      kind: 'address',
      label: mark('聊天链接'),
      hint: mark('填写后菜单中出现「聊天」'),
      placeholder: mark('例如已部署的聊天网页的地址'),
    },
    {
      key: 'QuotaPerUnit',
      kind: 'number',
      min: 0.01,
      max: 1e12,
      step: 0.01,
      label: mark('单位美元额度'),
      hint: mark('一美元能兑换的额度'),
    },
    {
      key: 'RetryTimes',
      kind: 'number',
      min: 0,
      max: 100,
      step: 1,
      label: mark('失败重试次数'),
      hint: mark('换一个渠道再试的次数'),
    },
    {
      key: 'StrictParameters',
      kind: 'toggle',
      label: mark('拒绝上游不支持的参数'),
      hint: mark('关闭时去掉 seed、stop 等上游没有的参数，并在响应头 X-Gatehouse-Dropped 中列出'),
    },
    {
      key: 'DropHostedTools',
      kind: 'text',
      label: mark('去掉模型无法使用的内置工具'),
      hint: mark(
        '渠道类型的编号，* 表示所有类型；例如 Codex 默认启用的 web_search。留空则拒绝这样的请求',
      ),
      placeholder: mark('例如 50,36 或 *'),
    },
    {
      key: 'DefaultLanguage',
      kind: 'choice',
      label: mark('错误提示的默认语言'),
      hint: mark('用于没有指明语言的程序'),
      options: [
        { value: 'zh', label: mark('简体中文') },
        { value: 'en', label: mark('英文') },
      ],
    },
    { key: 'DisplayInCurrencyEnabled', kind: 'toggle', label: mark('以货币形式显示额度') },
    {
      key: 'DisplayTokenStatEnabled',
      kind: 'toggle',
      label: mark('接口返回令牌额度'),
      hint: mark('账单接口给出令牌的额度，而不是用户的额度'),
    },
    {
      key: 'ApproximateTokenEnabled',
      kind: 'toggle',
      label: mark('用近似的方式估算 token 数'),
      hint: mark('计算更快；上游没有给出用量时，计费可能有偏差'),
    },
  ],
}

export const logGroup: OptionGroup = {
  id: 'log',
  title: mark('日志'),
  saveLabel: mark('保存日志设置'),
  fields: [
    {
      key: 'LogConsumeEnabled',
      kind: 'toggle',
      label: mark('记录消费日志'),
      hint: mark('关闭后仍会扣费和统计，只是没有明细'),
    },
    {
      key: 'LogRetentionDays',
      kind: 'number',
      isOurs: true,
      min: 0,
      max: 36_500,
      step: 1,
      unit: mark('天'),
      label: mark('日志保留天数'),
      hint: mark('更早的日志会自动删除，无法恢复；余额和统计不受影响。0 为一直保留'),
      confirmFewer: mark('从下一次清理起，{{count}} 天前的日志会自动删除，无法恢复'),
    },
    {
      key: 'LogBodyRetentionDays',
      kind: 'number',
      isOurs: true,
      min: 1,
      max: 36_500,
      step: 1,
      unit: mark('天'),
      label: mark('请求与响应保留天数'),
      hint: mark('只有开启了记录的令牌才会保存请求与响应'),
      confirmFewer: mark('从下一次清理起，{{count}} 天前的请求与响应会自动删除，无法恢复'),
    },
    {
      key: 'LogBodyKilobytesMax',
      kind: 'number',
      isOurs: true,
      min: 0,
      max: 1024,
      step: 1,
      unit: mark('KiB'),
      label: mark('请求与响应记录上限'),
      hint: mark('超过的部分从中间省略；0 为不记录任何请求与响应'),
    },
  ],
}

export const monitorGroup: OptionGroup = {
  id: 'monitor',
  title: mark('监控'),
  saveLabel: mark('保存监控设置'),
  fields: [
    {
      key: 'ChannelDisableThreshold',
      kind: 'number',
      min: 0,
      max: 100_000,
      step: 0.1,
      unit: mark('秒'),
      label: mark('最长响应时间'),
      hint: mark('测试全部渠道时，超过此时间的渠道会被自动禁用'),
    },
    {
      ...quota,
      key: 'QuotaRemindThreshold',
      label: mark('额度提醒阈值'),
      hint: mark('低于此额度时发邮件提醒用户'),
    },
    {
      key: 'AutomaticDisableChannelEnabled',
      kind: 'toggle',
      label: mark('失败时自动禁用渠道'),
    },
    {
      key: 'AutomaticEnableChannelEnabled',
      kind: 'toggle',
      label: mark('成功时自动启用渠道'),
    },
  ],
}

export const quotaGroup: OptionGroup = {
  id: 'quota',
  title: mark('额度'),
  saveLabel: mark('保存额度设置'),
  fields: [
    { ...quota, key: 'QuotaForNewUser', label: mark('新用户初始额度') },
    {
      key: 'ReserveFullAnswer',
      kind: 'toggle',
      isOurs: true,
      label: mark('按回复上限预扣'),
      hint: mark('余额不足以支付最长的回复时，回复长度会限制在余额之内；关闭后可能欠费'),
    },
    {
      key: 'ReserveMinimumTokens',
      kind: 'number',
      isOurs: true,
      min: 1,
      max: 1_000_000,
      step: 1,
      label: mark('并发调用的最小回复'),
      hint: mark('其他调用占用余额，剩余不足以支付这么多 token 的回复时，调用会排队等待'),
    },
    {
      key: 'PreConsumedQuota',
      kind: 'number',
      min: 0,
      max: 10_000_000,
      step: 1,
      label: mark('请求预扣费额度'),
      hint: mark('关闭按回复上限预扣后，没有限制输出长度的请求按此 token 数预扣'),
    },
    {
      key: 'LimitTimeZone',
      kind: 'text',
      isOurs: true,
      label: mark('预算时区'),
      hint: mark('令牌和用户的预算从此时区的零点开始计算'),
      placeholder: mark('例如 Asia/Shanghai'),
    },
    { ...quota, key: 'QuotaForInviter', label: mark('邀请新用户奖励额度') },
    { ...quota, key: 'QuotaForInvitee', label: mark('使用邀请码奖励额度') },
  ],
}

export const ratioGroup: OptionGroup = {
  id: 'ratio',
  title: mark('倍率'),
  saveLabel: mark('保存倍率设置'),
  fields: [
    {
      key: 'DefaultModelRatio',
      kind: 'text',
      isOurs: true,
      label: mark('其他模型的倍率'),
      hint: mark('没有单独定价的模型按此计费，留空则拒绝调用'),
      placeholder: mark('留空则拒绝没有定价的模型'),
    },
    {
      key: 'ModelRatio',
      kind: 'ratios',
      label: mark('模型倍率'),
      hint: mark('倍率 1 即每 1M tokens 2 美元；删去的内置模型仍按内置倍率计费'),
      invalid: mark('模型倍率不是有效的 JSON'),
    },
    {
      key: 'CompletionRatio',
      kind: 'ratios',
      label: mark('补全倍率'),
      hint: mark('补全价格是提示价格的几倍；没有的按模型名称推断'),
      invalid: mark('补全倍率不是有效的 JSON'),
    },
    {
      key: 'GroupRatio',
      kind: 'ratios',
      label: mark('分组倍率'),
      hint: mark('也是可选的用户分组'),
      invalid: mark('分组倍率不是有效的 JSON'),
      keeps: { name: DEFAULT_GROUP, sentence: mark('不能缺少「{{name}}」，新用户都在此分组') },
    },
    {
      key: 'UserUsableGroups',
      kind: 'long',
      rows: 5,
      isCode: true,
      isOurs: true,
      label: mark('令牌可选的分组'),
      hint: mark('用户可为令牌另选的分组及说明，例如 {"vip": "优先渠道"}；没有分组倍率的不生效'),
    },
    {
      key: 'CacheRatio',
      kind: 'ratios',
      isOurs: true,
      label: mark('缓存倍率'),
      hint: mark('命中上游缓存的提示 tokens 按此倍率计费'),
      invalid: mark('缓存倍率不是有效的 JSON'),
    },
  ],
}
