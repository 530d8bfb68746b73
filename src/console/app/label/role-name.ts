import { Role } from '../../../contract/user.ts'
import { mark } from '../i18n.ts'

const names = new Map<number, string>([
  [Role.user, mark('普通用户')],
  [Role.admin, mark('管理员')],
  [Role.root, mark('超级管理员')],
])

/**
 * Name of a role. Chinese, translated where displayed. Other programs may have stored unknown
 * numbers.
 */
export const roleName = (role: number): string => names.get(role) ?? mark('未知身份')
