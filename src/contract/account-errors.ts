import type { ErrorSpec } from './error-spec.ts'

/** Errors about sign-in, registration, users and email. */
export const accountErrors = {
  // Sign-in and users
  password_login_closed: {
    status: 403,
    zh: '管理员关闭了密码登录',
    en: 'Password sign-in is turned off',
  },
  wrong_credentials: {
    status: 401,
    zh: '用户名或密码错误，或该用户已被封禁',
    en: 'Wrong username or password, or the user is banned',
  },
  default_password_remote: {
    status: 403,
    zh: '用户名或密码错误。默认密码只能在服务器本机通过 localhost 登录：请在本机登录并修改密码，或在服务器上运行 gatehouse reset-root 生成新密码',
    en: 'Wrong username or password. The default password only works on the server itself via localhost: sign in there and change it, or run “gatehouse reset-root” on the server to generate a new password',
  },
  too_many_attempts: {
    status: 429,
    zh: '该账户登录失败次数过多，请 {minutes} 分钟后再试',
    en: 'Too many failed sign-ins for this account. Try again in {minutes} min',
  },
  old_password_wrong: {
    status: 403,
    zh: '当前密码不正确',
    en: 'The current password is wrong',
  },
  old_password_needed: {
    status: 403,
    zh: '使用系统访问令牌修改自己的密码时，须调用 PUT /api/user/self 并在 old_password 中提供当前密码',
    en: 'To change your own password with an access token, call PUT /api/user/self with the current password in old_password',
  },
  too_many_password_attempts: {
    status: 429,
    zh: '当前密码错误次数过多，请 {minutes} 分钟后再试',
    en: 'Too many wrong current passwords. Try again in {minutes} min',
  },
  second_factor_expired: {
    status: 401,
    zh: '登录已超时，请重新输入用户名和密码',
    en: 'This sign-in has expired. Enter your username and password again',
  },
  second_factor_wrong: {
    status: 401,
    zh: '验证码或恢复码不正确，或已经用过；验证码每 30 秒更新一次，请输入新的',
    en: 'The code is wrong or was used before. Codes change every 30 seconds: enter a new one',
  },
  second_factor_attempts: {
    status: 429,
    zh: '验证码错误次数过多，请 {minutes} 分钟后再试',
    en: 'Too many wrong codes. Try again in {minutes} min',
  },
  second_factor_missing: {
    status: 404,
    zh: '该账户没有启用两步验证',
    en: 'This account has no two-factor sign-in',
  },
  second_factor_enabled: {
    status: 409,
    zh: '两步验证已启用；要更换设备，请先关闭',
    en: 'Two-factor sign-in is on already. To change the device, turn it off first',
  },
  second_factor_needed: {
    status: 403,
    zh: '请输入身份验证器中的验证码',
    en: 'Enter the code of your authenticator app',
  },
  verification_needed: {
    status: 403,
    zh: '请先验证身份：输入当前密码或身份验证器中的验证码；没有密码的账户请重新登录',
    en: 'Confirm that it is you first: enter your password or the code of your authenticator app. Accounts without a password sign in again',
  },
  proof_required: {
    status: 403,
    envelopeCode: 'VERIFICATION_REQUIRED',
    zh: '此操作需要在五分钟内验证过身份。若控制台没有弹出验证窗口，请退出后重新登录，再在五分钟内操作',
    en: 'This needs a proof of identity within the last five minutes. If the console shows no dialog for it, sign out, sign in again and repeat this within five minutes',
  },
  second_factor_required: {
    status: 403,
    envelopeCode: 'SECOND_FACTOR_REQUIRED',
    zh: '管理员要求此账户启用两步验证或通行密钥。请先在控制台启用，再进行其他操作',
    en: 'This account must have two-factor sign-in or a passkey. Set one up in the console first',
  },
  passkey_address: {
    status: 409,
    zh: '通行密钥不能用于地址 {address}，它需要 HTTPS 和域名（本机可以用 localhost）。请管理员设置「服务器地址」',
    en: 'Passkeys do not work at {address}: they need HTTPS and a domain name, or localhost. An administrator can set the server address',
  },
  passkey_expired: {
    status: 401,
    zh: '通行密钥操作已超时或已被使用，请重试',
    en: 'This use of a passkey has expired or was completed before. Try again',
  },
  passkey_invalid: {
    status: 401,
    zh: '无法验证该通行密钥，请改用其他方式',
    en: 'The passkey could not be verified. Use another way to sign in',
  },
  passkey_missing: {
    status: 404,
    zh: '该账户没有这个通行密钥，请刷新列表',
    en: 'The account has no such passkey. Refresh the list',
  },
  passkey_limit: {
    status: 409,
    zh: '每个账户最多 {max} 个通行密钥，请先删除不用的',
    en: 'An account can have at most {max} passkeys. Delete one first',
  },
  passkey_name_too_long: {
    status: 400,
    zh: '通行密钥的名称最多 {max} 个字符',
    en: 'The name of a passkey can have at most {max} characters',
  },
  access_token_name: {
    status: 400,
    zh: '请为系统访问令牌填写名称：1 到 50 个字符，不含换行和控制字符',
    en: 'Give the system access token a name of 1 to 50 characters, without line breaks and control characters',
  },
  access_token_scopes_empty: {
    status: 400,
    zh: '请为系统访问令牌至少选择一个权限范围',
    en: 'Choose at least one scope for the system access token',
  },
  access_token_expiry: {
    status: 400,
    zh: '系统访问令牌的过期时间须在将来；0 表示永不过期',
    en: 'The expiry of the system access token must be in the future; 0 means never',
  },
  access_tokens_max: {
    status: 409,
    zh: '系统访问令牌最多 {max} 个，请先撤销不用的',
    en: 'An account can have at most {max} system access tokens. Revoke one that is not in use',
  },
  access_token_gone: {
    status: 404,
    zh: '该系统访问令牌已被撤销，请刷新列表',
    en: 'This system access token has been revoked already. Refresh the list',
  },
  session_gone: {
    status: 404,
    zh: '该登录已退出或已过期，请刷新列表',
    en: 'This session has ended already. Refresh the list',
  },
  session_needed: {
    status: 403,
    zh: '系统访问令牌不能更改账户的登录方式，请登录控制台后操作',
    en: 'An access token cannot change the sign-in methods of an account. Sign in to the console to do this',
  },
  username_too_long: {
    status: 400,
    zh: '用户名最多 {max} 个字符',
    en: 'A username can have at most {max} characters',
  },
  username_taken: {
    status: 409,
    zh: '用户名「{name}」已被使用',
    en: 'The username “{name}” is taken',
  },
  username_alike: {
    status: 409,
    zh: '用户名「{name}」与已有用户名或系统保留的名称过于相似，请换一个',
    en: 'The username “{name}” looks like another username or a reserved name. Choose another one',
  },
  display_name_too_long: {
    status: 400,
    zh: '显示名称最多 {max} 个字符',
    en: 'A display name can have at most {max} characters',
  },
  email_invalid: {
    status: 400,
    zh: '邮箱地址无效，例如 name@example.com，最多 {max} 个字符',
    en: 'Invalid email address: use the form name@example.com with at most {max} characters',
  },
  password_too_short: {
    status: 400,
    zh: '密码至少 {min} 位',
    en: 'The password must have at least {min} characters',
  },
  password_too_long: {
    status: 400,
    zh: '密码过长，请缩短（最多 {max} 字节，一个汉字占 3 字节）',
    en: 'The password is too long; it can have at most {max} bytes',
  },
  password_common: {
    status: 400,
    zh: '这个密码过于常见，很容易被猜到，请换一个',
    en: 'This password is too common and easy to guess. Choose another one',
  },
  password_is_username: {
    status: 400,
    zh: '密码不能只由用户名组成，请换一个',
    en: 'The password must not consist of the username only. Choose another one',
  },
  user_not_found: { status: 404, zh: '用户不存在', en: 'No such user' },
  cannot_create_peer: {
    status: 403,
    zh: '不能创建权限不低于自己的用户',
    en: 'You cannot create a user whose role is not below yours',
  },
  cannot_see_peer: {
    status: 403,
    zh: '不能查看权限不低于自己的用户',
    en: 'You cannot view a user whose role is not below yours',
  },
  cannot_change_peer: {
    status: 403,
    zh: '不能修改权限不低于自己的用户',
    en: 'You cannot change a user whose role is not below yours',
  },
  cannot_raise_to_peer: {
    status: 403,
    zh: '不能把用户提升到不低于自己的权限',
    en: 'You cannot raise a user to a role that is not below yours',
  },
  cannot_disable_root: {
    status: 403,
    zh: '不能禁用超级管理员',
    en: 'The super admin cannot be disabled',
  },
  cannot_delete_root: {
    status: 403,
    zh: '不能删除超级管理员',
    en: 'The super admin cannot be deleted',
  },
  cannot_demote_root: {
    status: 403,
    zh: '不能降级超级管理员',
    en: 'The super admin cannot be demoted',
  },
  only_root_promotes: {
    status: 403,
    zh: '只有超级管理员可以把用户提升为管理员',
    en: 'Only the super admin can promote users',
  },
  already_admin: {
    status: 409,
    zh: '该用户已经是管理员',
    en: 'The user is already an administrator',
  },
  already_user: {
    status: 409,
    zh: '该用户已经是普通用户',
    en: 'The user is already an ordinary user',
  },
  role_unknown: {
    status: 400,
    zh: '没有这样的角色：{role}',
    en: 'Unknown role: {role}',
  },
  user_group_invalid: {
    status: 400,
    zh: '分组最多 {count} 个，每个名称最多 {max} 个字符',
    en: 'A user can have at most {count} groups, each with a name of at most {max} characters',
  },
  balance_too_large: {
    status: 400,
    zh: '余额将超过上限 {max}',
    en: 'The balance would exceed the maximum of {max}',
  },
  quota_negative: { status: 400, zh: '额度不能为负数', en: 'Quota cannot be negative' },
  // Sign-in with external providers
  oauth_state_invalid: {
    status: 403,
    real: true,
    zh: '登录请求已失效或来自其他窗口，请重新发起',
    en: 'The sign-in request has expired or belongs to another window. Start again',
  },
  external_closed: {
    status: 403,
    zh: '管理员未开启通过{providerZh}登录',
    en: 'Signing in with {providerEn} is turned off',
  },
  external_denied: {
    status: 403,
    zh: '{providerZh}没有授权本次登录',
    en: '{providerEn} did not approve this sign-in',
  },
  external_unreachable: {
    status: 502,
    zh: '无法连接至{providerZh}服务器，请稍后重试',
    en: '{providerEn} cannot be reached. Try again later',
  },
  external_refused: {
    status: 401,
    zh: '{providerZh}不接受本次登录，请重新发起；若一直如此，请联系管理员',
    en: '{providerEn} did not accept this sign-in. Start again, and contact an administrator if it persists',
  },
  external_answer_invalid: {
    status: 502,
    zh: '{providerZh}返回的信息无法确认身份，请稍后重试',
    en: 'The response of {providerEn} does not identify you. Try again later',
  },
  external_mismatch: {
    status: 502,
    zh: '管理员配置的{providerZh}地址与该服务器自报的签发者不一致，无法登录，请联系管理员',
    en: 'The {providerEn} server reports an issuer that differs from its configured address, so you cannot sign in with it. Contact an administrator',
  },
  external_taken: {
    status: 409,
    zh: '该{providerZh}账户已被绑定',
    en: 'This {providerEn} account is already linked to a user',
  },
  external_root: {
    status: 403,
    zh: '超级管理员不能通过第三方账户登录，也不能绑定',
    en: 'The super admin cannot sign in with an external account or link one',
  },
  external_admin_unbound: {
    status: 403,
    zh: '管理员账户尚未绑定到当前的{providerZh}服务器，请先用密码登录，再在账户中重新绑定',
    en: 'This administrator is not linked to the current {providerEn} server. Sign in with your password and link the account again',
  },
  external_admin_unproven: {
    status: 403,
    zh: '{providerZh}未配置发现地址，管理员不能通过它登录或绑定，请用密码登录',
    en: '{providerEn} has no discovery address, so administrators cannot sign in with it or link it. Sign in with your password',
  },
  external_only_way_in: {
    status: 409,
    zh: '这是唯一的登录方式，请先设置密码或绑定其他账户',
    en: 'This is your only way to sign in. Set a password or link another account first',
  },
  register_closed: {
    status: 403,
    zh: '管理员关闭了新用户注册',
    en: 'Registration is closed',
  },
  wechat_code_invalid: {
    status: 401,
    zh: '验证码错误或已过期',
    en: 'The code is wrong or has expired',
  },
  wechat_code_attempts: {
    status: 429,
    zh: '验证码尝试次数过多，请稍后再试',
    en: 'Too many wrong codes. Try again later',
  },
  // Registration and email
  username_invalid: {
    status: 400,
    zh: '用户名不能以空格开头或结尾，也不能包含 @ 和不可见字符',
    en: 'A username must not begin or end with a space, or contain @ or invisible characters',
  },
  password_register_closed: {
    status: 403,
    zh: '管理员关闭了密码注册，请使用第三方账户注册',
    en: 'Registration with a password is turned off. Register with an external account',
  },
  email_code_needed: {
    status: 400,
    zh: '请输入邮箱地址和验证码',
    en: 'Enter your email address and the code sent to it',
  },
  email_code_wrong: {
    status: 403,
    zh: '验证码错误或已过期',
    en: 'The code is wrong or has expired',
  },
  email_domain_not_allowed: {
    status: 403,
    zh: '不接受该域名的邮箱，可用的域名：{domains}',
    en: 'Email addresses of this domain are not accepted. Allowed domains: {domains}',
  },
  email_taken: {
    status: 409,
    zh: '该邮箱地址已被其他账户使用',
    en: 'Another account already uses this email address',
  },
  reset_link_invalid: {
    status: 403,
    zh: '重置链接无效或已过期，请重新申请',
    en: 'The reset link is not valid or has expired. Request another one',
  },
  too_many_mails: {
    status: 429,
    zh: '发往该地址的邮件过多，请 {minutes} 分钟后再试',
    en: 'Too many emails to this address. Try again in {minutes} min',
  },
  human_check_needed: {
    status: 403,
    zh: '请先完成人机验证',
    en: 'Complete the human check first',
  },
  human_check_failed: {
    status: 403,
    zh: '人机验证没有通过，请刷新页面重试',
    en: 'The human check failed. Reload the page and try again',
  },
  human_check_unreachable: {
    status: 502,
    zh: '暂时无法进行人机验证，请稍后再试',
    en: 'The human check is unavailable. Try again later',
  },
  mail_unset: {
    status: 409,
    zh: '管理员没有设置邮件服务器或发件人，无法发送邮件',
    en: 'Cannot send email: the mail server or the sender is not set up. Contact an administrator',
  },
  own_email_missing: {
    status: 400,
    zh: '您的账户没有绑定邮箱，请填写收件人',
    en: 'Your account has no email address. Enter a recipient',
  },
  mail_failed: {
    status: 502,
    zh: '邮件没有发出：{problemZh}',
    en: 'The email was not sent: {problemEn}',
  },
  root_without_email: {
    status: 409,
    zh: '超级管理员没有绑定邮箱，也没有设置消息推送',
    en: 'The super admin has no email address, and no message pusher is set up',
  },
  push_failed: {
    status: 502,
    zh: '消息推送没有成功，请检查地址和凭证',
    en: 'The message pusher rejected the message. Check its address and credential',
  },
} as const satisfies Record<string, ErrorSpec>
