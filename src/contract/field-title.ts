import type { Words } from './channel-type-row.ts'

/** Titles in the console of wire members that people fill in. */
export const fieldTitles: Readonly<Record<string, Words>> = {
  name: { zh: '名称', en: 'Name' },
  username: { zh: '用户名', en: 'Username' },
  display_name: { zh: '显示名称', en: 'Display name' },
  group: { zh: '分组', en: 'Groups' },
  quota: { zh: '额度', en: 'Quota' },
  key: { zh: '密钥', en: 'Key' },
  base_url: { zh: '接口地址', en: 'Base URL' },
  models: { zh: '模型', en: 'Models' },
  test_model: { zh: '测试模型', en: 'Test model' },
  subnet: { zh: '允许的网段', en: 'Allowed subnets' },
}

/**
 * Names a member in an error: its title in the console and its wire name, or the wire name alone if
 * the console has no such field.
 */
export function fieldPlaces(member: string): { fieldZh: string; fieldEn: string } {
  const title = fieldTitles[member]
  return title === undefined
    ? { fieldZh: ` ${member} `, fieldEn: member }
    : { fieldZh: `「${title.zh}」（${member}）`, fieldEn: `“${title.en}” (${member})` }
}
