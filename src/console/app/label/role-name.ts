import { Role } from '../../../contract/user.ts'
import { mark } from '../i18n.ts'

const names = new Map<number, string>([
  [Role.user, mark('普通用户')],
  [Role.admin, mark('管理员')],
  [Role.root, mark('超级管理员')],
])

/** The name of a role; Chinese, translated where shown. Other programs may have written others. */
export const roleName = (role: number): string => names.get(role) ?? mark('未知身份')
