import { PASSWORD_LENGTH_MIN } from '../../contract/user.ts'
import { mark } from '../app/i18n.ts'

export type RegisterForm = Record<'username' | 'password' | 'password2' | 'email' | 'code', string>

/**
 * Errors by field, in the order of the form. Chinese, translated where displayed. The server
 * enforces the limits that placeholders mention.
 */
export function registerErrors(
  form: RegisterForm,
  { needsEmail }: { needsEmail: boolean },
): Map<keyof RegisterForm, string> {
  const errors = new Map<keyof RegisterForm, string>()
  if (form.username === '') errors.set('username', mark('请输入用户名'))
  if ([...form.password].length < PASSWORD_LENGTH_MIN) {
    errors.set('password', mark('密码长度不得小于 8 位！'))
  } else if (form.password !== form.password2) {
    errors.set('password2', mark('两次输入的密码不一致'))
  }
  if (needsEmail && form.email.trim() === '') errors.set('email', mark('请输入邮箱地址'))
  if (needsEmail && form.code.trim() === '') errors.set('code', mark('请输入验证码'))
  return errors
}
