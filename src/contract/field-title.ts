import type { Words } from './channel-type-row.ts'

/** What the console calls members of the wire that people fill in. */
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
 * How a refusal names a member: as people find it in the console, and as programs sent it. What
 * has no field there has the name of the wire alone.
 */
export function fieldPlaces(member: string): { fieldZh: string; fieldEn: string } {
  const title = fieldTitles[member]
  return title === undefined
    ? { fieldZh: ` ${member} `, fieldEn: member }
    : { fieldZh: `「${title.zh}」（${member}）`, fieldEn: `“${title.en}” (${member})` }
}
