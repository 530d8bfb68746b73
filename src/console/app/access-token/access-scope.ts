import type { AccessScope } from '../../../contract/access-token.ts'
import { mark } from '../i18n.ts'

/** Chinese; translated where displayed. */
export const SCOPE_TEXTS: Record<AccessScope, string> = {
  all: mark('角色允许的全部操作'),
  read: mark('只读（不含密钥和兑换码）'),
  logs: mark('日志和统计'),
  channels: mark('渠道'),
  tokens: mark('自己的令牌（含密钥）'),
}
