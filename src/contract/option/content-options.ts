import type { OptionRow } from './option-row.ts'

/** Options of the page Settings → Other: texts and look of the console. */
export const contentOptions = {
  Notice: {
    group: 'notice',
    kind: 'longText',
    default: '',
    rows: 6,
    title: { zh: '公告内容', en: 'Notice text' },
    hint: {
      zh: '支持 Markdown 和 HTML；在首页显示，直到读者关闭',
      en: 'Markdown or HTML; shown on the home page until the reader closes it',
    },
    placeholder: { zh: '在此输入新的公告内容', en: 'Write the new notice here' },
  },
  SystemName: {
    group: 'look',
    kind: 'line',
    default: 'Gatehouse',
    title: { zh: '系统名称', en: 'System name' },
    placeholder: { zh: '在此输入系统名称', en: 'Write the system name here' },
  },
  Theme: {
    group: 'look',
    kind: 'choice',
    default: 'default',
    choices: [
      { value: 'default', title: { zh: '默认（青）', en: 'Default (teal)' } },
      { value: 'berry', title: { zh: '莓果（红）', en: 'Berry (red)' } },
      { value: 'air', title: { zh: '天空（蓝）', en: 'Air (blue)' } },
    ],
    title: { zh: '主题', en: 'Theme' },
    hint: { zh: '重启服务后生效', en: 'Takes effect after a restart' },
  },
  Logo: {
    group: 'look',
    kind: 'picture',
    default: '',
    title: { zh: 'Logo 图片地址', en: 'Logo image address' },
    placeholder: {
      zh: '例如 https://example.com/logo.png',
      en: 'e.g. https://example.com/logo.png',
    },
  },
  HomePageContent: {
    group: 'home',
    kind: 'longText',
    default: '',
    rows: 10,
    title: { zh: '首页内容', en: 'Home page' },
    hint: {
      zh: '支持 Markdown 和 HTML；若只填一个 https 链接，则在框架中打开它',
      en: 'Markdown or HTML; a single https link is opened in a frame',
    },
    placeholder: {
      zh: '在此输入首页内容，留空则显示默认首页',
      en: 'Write the home page here; leave empty for the default one',
    },
  },
  About: {
    group: 'about',
    kind: 'longText',
    default: '',
    rows: 10,
    title: { zh: '关于页内容', en: 'About page' },
    hint: {
      zh: '支持 Markdown 和 HTML；若只填一个 https 链接，则在框架中打开它',
      en: 'Markdown or HTML; a single https link is opened in a frame',
    },
    placeholder: { zh: '在此输入关于页的内容', en: 'Write the about page here' },
  },
  Footer: {
    group: 'footer',
    kind: 'longText',
    default: '',
    rows: 4,
    isCode: true,
    title: { zh: '页脚 HTML', en: 'Footer HTML' },
    hint: { zh: '留空则显示默认页脚', en: 'Leave empty for the default footer' },
    placeholder: { zh: '在此输入页脚，支持 HTML', en: 'Write the footer here; HTML is allowed' },
  },
} as const satisfies Readonly<Record<string, OptionRow>>
