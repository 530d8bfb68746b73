import { isAdmin, isRoot, type ManageAction } from '../../contract/user.ts'
import { mark } from '../app/i18n.ts'

type UserAct = ManageAction | 'edit'

interface Ranked {
  id: number
  role: number
}

/**
 * Returns why the actor may not do this to the user; empty if they may. Chinese, translated where
 * displayed.
 */
export function denialReason(act: UserAct, actor: Ranked, user: Ranked): string {
  if (isRoot(user.role) && act !== 'edit') return mark('超级管理员不能被提升、降级、禁用或删除')
  if (isRoot(actor.role) && isRoot(user.role) && actor.id !== user.id) {
    return mark('不能修改其他超级管理员')
  }
  if (!isRoot(actor.role) && actor.role <= user.role) {
    return mark('对方的权限与您相同或更高')
  }
  if (act === 'promote') {
    if (isAdmin(user.role)) return mark('该用户已经是管理员')
    if (!isRoot(actor.role)) return mark('只有超级管理员可以提升用户')
  }
  if (act === 'demote' && !isAdmin(user.role)) return mark('该用户已经是普通用户')
  return ''
}
