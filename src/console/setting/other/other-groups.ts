import { mark } from '../../app/i18n.ts'
import type { OptionGroup } from '../option/option-field.ts'

export const otherGroups: readonly OptionGroup[] = [
  {
    id: 'notice',
    title: mark('公告'),
    saveLabel: mark('保存公告'),
    fields: [
      {
        key: 'Notice',
        kind: 'long',
        rows: 6,
        label: mark('公告内容'),
        hint: mark('支持 Markdown 和 HTML；在首页显示，直到读者关闭'),
        placeholder: mark('在此输入新的公告内容'),
      },
    ],
  },
  {
    id: 'look',
    title: mark('个性化'),
    saveLabel: mark('保存个性化设置'),
    fields: [
      {
        key: 'SystemName',
        kind: 'text',
        label: mark('系统名称'),
        placeholder: mark('在此输入系统名称'),
      },
      {
        key: 'Theme',
        kind: 'choice',
        label: mark('主题'),
        hint: mark('重启服务后生效'),
        options: [
          { value: 'default', label: mark('默认（青）') },
          { value: 'berry', label: mark('莓果（红）') },
          { value: 'air', label: mark('天空（蓝）') },
        ],
      },
      {
        key: 'Logo',
        kind: 'text',
        isPicture: true,
        label: mark('Logo 图片地址'),
        placeholder: mark('例如 https://example.com/logo.png'),
      },
    ],
  },
  {
    id: 'home',
    title: mark('首页'),
    saveLabel: mark('保存首页内容'),
    fields: [
      {
        key: 'HomePageContent',
        kind: 'long',
        rows: 10,
        label: mark('首页内容'),
        hint: mark('支持 Markdown 和 HTML；若只填一个 https 链接，则在框架中打开它'),
        placeholder: mark('在此输入首页内容，留空则显示默认首页'),
      },
    ],
  },
  {
    id: 'about',
    title: mark('关于'),
    saveLabel: mark('保存关于'),
    fields: [
      {
        key: 'About',
        kind: 'long',
        rows: 10,
        label: mark('关于页内容'),
        hint: mark('支持 Markdown 和 HTML；若只填一个 https 链接，则在框架中打开它'),
        placeholder: mark('在此输入关于页的内容'),
      },
    ],
  },
  {
    id: 'footer',
    title: mark('页脚'),
    saveLabel: mark('保存页脚'),
    fields: [
      {
        key: 'Footer',
        kind: 'long',
        rows: 4,
        isCode: true,
        label: mark('页脚 HTML'),
        hint: mark('留空则显示默认页脚'),
        placeholder: mark('在此输入页脚，支持 HTML'),
      },
    ],
  },
]
