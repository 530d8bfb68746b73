import { Role, ROOT_USERNAME, UserStatus } from '../../contract/user.ts'
import { SECONDS_PER_DAY } from '../clock.ts'
import { DIGITS, LETTERS_AND_DIGITS, type Dice } from './dice.ts'
import { demoModels, type DemoModel } from './demo-models.ts'

/** A person of the demo without an id. */
export interface DemoPerson {
  username: string
  displayName: string
  email: string
  group: string
  role: number
  status: number
  affCode: string
  joinedSeconds: number
  /** Time when the account was disabled, else now. */
  leavesSeconds: number
  /** Share of the traffic. */
  activity: number
  /** Models that this person mostly calls. */
  favourites: readonly DemoModel[]
}

type Sketch = [username: string, displayName: string, group?: string]

/** Usernames have at most 12 characters. */
const sketches: readonly Sketch[] = [
  ['root', '超级管理员', 'svip'],
  ['wangyun', '王芸（运维）', 'svip'],
  ['lihao', '李浩', 'vip'],
  ['zhangwei', '张伟', 'vip'],
  ['chenjing', '陈静'],
  ['liuyang', '刘洋', 'svip'],
  ['alice', 'Alice Carter', 'vip'],
  ['zhaolei', '赵磊'],
  ['sunqian', '孙倩', 'vip'],
  ['zhoujie', '周杰'],
  ['bob', 'Bob Müller'],
  ['wuxia', '吴霞'],
  ['xufeng', '徐峰', 'svip'],
  ['hulin', '胡琳'],
  ['guoqiang', '郭强', 'vip'],
  ['grace', 'Grace Kim'],
  ['helan', '何岚'],
  ['gaoxiang', '高翔'],
  ['linmei', '林梅', 'vip'],
  ['luoyi', '罗毅'],
  ['songtao', '宋涛', 'svip'],
  ['diego', 'Diego Rivera'],
  ['tangwen', '唐雯'],
  ['hanbing', '韩冰', 'vip'],
  ['caoyu', '曹宇'],
  ['dengchao', '邓超然'],
  ['emma', 'Emma Johansson', 'vip'],
  ['xiaohui', '萧惠'],
  ['fengkai', '冯凯'],
  ['yaoqing', '姚青', 'vip,default'],
  ['pengfei', '彭飞'],
  ['haruka', '佐藤遥'],
  ['lvxin', '吕欣'],
  ['suming', '苏明'],
  ['jackson', 'Jackson Wright', 'svip'],
  ['weiran', '魏然'],
  ['dingdong', '丁冬'],
  ['yebai', '叶白'],
  ['xuexi01', '学习账号 01'],
  ['trial', '试用账号'],
]

const ADMIN = 'wangyun'
/** Accounts that an administrator has disabled. */
const CLOSED = new Set(['dengchao', 'dingdong', 'trial'])
/** The ordinary user whose credentials the demo prints. */
export const DEMO_USERNAME = 'lihao'
/** Printed users, with their share of the traffic. */
const SIGN_INS: ReadonlyMap<string, number> = new Map([
  [ROOT_USERNAME, 2],
  [DEMO_USERNAME, 5],
])

export interface PeopleSetting {
  dice: Dice
  count: number
  startSeconds: number
  nowSeconds: number
}

/** Returns the demo's accounts, root first. */
export function planPeople({ dice, count, ...time }: PeopleSetting): DemoPerson[] {
  const { startSeconds, nowSeconds } = time
  return sketches.slice(0, count).map(([username, displayName, group = 'default'], index) => {
    const isEarly = index < count / 2 || dice.percent(50)
    const joinedSeconds = isEarly
      ? startSeconds - dice.whole(1, 40) * SECONDS_PER_DAY
      : startSeconds + dice.whole(1, 40) * SECONDS_PER_DAY
    const isClosed = CLOSED.has(username)
    const role =
      username === ROOT_USERNAME ? Role.root : username === ADMIN ? Role.admin : Role.user
    return {
      username,
      displayName,
      email: username === ROOT_USERNAME ? '' : `${username}@example.com`,
      group,
      role,
      status: isClosed ? UserStatus.disabled : UserStatus.enabled,
      // The number makes codes unique.
      affCode: dice.text(2, LETTERS_AND_DIGITS) + String(index).padStart(2, '0'),
      joinedSeconds,
      leavesSeconds: isClosed ? nowSeconds - dice.whole(3, 12) * SECONDS_PER_DAY : nowSeconds,
      // A few people make most of the calls. The printed users must have calls of their own.
      activity: SIGN_INS.get(username) ?? dice.spread(1, 1.1),
      favourites: favourites(dice),
    }
  })
}

function favourites(dice: Dice): DemoModel[] {
  const count = dice.whole(2, 5)
  const drawn = Array.from({ length: count }, () => dice.weighted(demoModels, (one) => one.share))
  return [...new Set(drawn)]
}

/** Returns `YYYYMMDDHHMMSS` (UTC) and seventeen digits, like the ids of real calls. */
export function requestIdAt(dice: Dice, atSeconds: number): string {
  const second = new Date(atSeconds * 1000).toISOString().replace(/\D/g, '').slice(0, 14)
  return second + dice.text(17, DIGITS)
}
