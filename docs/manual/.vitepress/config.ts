import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, type DefaultTheme } from 'vitepress'
import { thirdParty } from '../../../tools/third-party.ts'
import { CHAPTERS, type Language } from './chapters.ts'
import { tokenize } from './tokenize.ts'

const ROOT = join(import.meta.dirname, '..')
const prefixOf = (language: Language): string => (language === 'zh' ? '/' : '/en/')

/** The first heading of a page, which is its name in the sidebar. */
function titleOf(language: Language, page: string): string {
  const text = readFileSync(join(ROOT, language, `${page}.md`), 'utf8')
  // oxlint-disable-next-line gatehouse/linear-pattern -- our own documents
  return /^# (.+)$/m.exec(text)?.[1]?.replace(/ *\{#.*\}$/, '') ?? page
}

const itemOf = (language: Language, page: string): DefaultTheme.SidebarItem => ({
  text: titleOf(language, page),
  link: prefixOf(language) + page.replace(/index$/, ''),
})

function sidebarOf(language: Language): DefaultTheme.SidebarMulti {
  const chapters = CHAPTERS.map(({ pages, [language]: text }) => ({
    text,
    items: pages.map((page) => itemOf(language, page)),
  }))
  const vendors = globSync('providers/*.md', { cwd: join(ROOT, language) })
    .map((path) => path.replace(/\.md$/, ''))
    .filter((page) => page !== 'providers/index')
    .toSorted()
  const providers = `${prefixOf(language)}providers/`
  return {
    [providers]: [
      { items: [itemOf(language, 'channels'), itemOf(language, 'providers/index')] },
      {
        text: language === 'zh' ? '渠道类型' : 'Channel types',
        items: vendors.map((page) => itemOf(language, page)),
      },
    ],
    [prefixOf(language)]: chapters,
  }
}

const search: { provider: 'local'; options: DefaultTheme.LocalSearchOptions } = {
  provider: 'local',
  options: {
    miniSearch: { options: {}, searchOptions: { combineWith: 'AND' } },
    locales: {
      root: {
        translations: {
          button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
          modal: {
            displayDetails: '显示详情',
            resetButtonTitle: '清除',
            backButtonTitle: '关闭',
            noResultsText: '没有找到',
            footer: { selectText: '打开', navigateText: '选择', closeText: '关闭' },
          },
        },
      },
    },
  },
}

/**
 * Splits the search index into Chinese terms. VitePress would send a function of its configuration
 * to the browser as text and evaluate it there, which the server's Content-Security-Policy forbids.
 * So the function is there only while the index is made; the theme sets the browser's.
 */
function chineseIndex() {
  const options = search.options.miniSearch?.options ?? {}
  let running = 0
  return {
    name: 'chinese-index',
    buildStart() {
      running += 1
      options.tokenize = tokenize
    },
    closeBundle() {
      running -= 1
      if (running === 0) delete options.tokenize
    },
  }
}

/** Lists what the pages' programs contain; the build for rendering them contains more. */
const licences = () => ({
  ...thirdParty(join(ROOT, '../../dist/manual-licences.txt')),
  apply: (_config: unknown, { isSsrBuild = false }: { isSsrBuild?: boolean }) => !isSsrBuild,
})

/**
 * Links from one language to the other are relative to the source files. Chinese pages lose their
 * folder in the site, so these links are made absolute.
 */
function languageLinks({ tokens }: { tokens: readonly MarkdownToken[] }): void {
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const href = token.attrGet('href') ?? ''
    const target = /^(?:\.\.\/)+(zh|en)\/(.*)$/.exec(href)
    // The pattern has only these two.
    if (target !== null) token.attrSet('href', prefixOf(target[1] as Language) + target[2])
  }
}

interface MarkdownToken {
  children: readonly MarkdownToken[] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}

const INLINE_SCRIPT = /<script id="([\w-]+)">([^]*?)<\/script>/g
const inlineScripts = new Map<string, string>()

export default defineConfig({
  title: 'Gatehouse',
  base: '/docs/',
  srcDir: '.',
  outDir: '../../dist/manual',
  srcExclude: ['parts/**'],
  ignoreDeadLinks: 'localhostLinks',
  rewrites: { 'zh/:page*': ':page*' },
  head: [['link', { rel: 'icon', href: '/docs/logo.png' }]],
  // The site's data in a file of its own: no inline script is left but those below.
  metaChunk: true,
  appearance: true,
  locales: {
    root: {
      label: '中文',
      lang: 'zh-CN',
      description: 'Gatehouse 使用手册',
      themeConfig: {
        nav: [
          { text: '开始', link: '/quick-start' },
          { text: '接入程序', link: '/programs' },
          { text: '运维', link: '/operating' },
          { text: '错误代码', link: '/errors' },
        ],
        sidebar: sidebarOf('zh'),
        outline: { label: '本页目录', level: [2, 3] },
        docFooter: { prev: '上一页', next: '下一页' },
        returnToTopLabel: '返回顶部',
        sidebarMenuLabel: '目录',
        darkModeSwitchLabel: '外观',
        lightModeSwitchTitle: '切换到浅色',
        darkModeSwitchTitle: '切换到深色',
        langMenuLabel: '切换语言',
        skipToContentLabel: '跳到内容',
        notFound: {
          title: '页面不存在',
          quote: '请检查地址，或从目录中查找。',
          linkLabel: '返回首页',
          linkText: '返回首页',
        },
      },
    },
    en: {
      label: 'English',
      lang: 'en',
      description: 'The manual of Gatehouse',
      themeConfig: {
        nav: [
          { text: 'Start', link: '/en/quick-start' },
          { text: 'Programs', link: '/en/programs' },
          { text: 'Operate', link: '/en/operating' },
          { text: 'Error codes', link: '/en/errors' },
        ],
        sidebar: sidebarOf('en'),
        outline: { label: 'On this page', level: [2, 3] },
      },
    },
  },
  themeConfig: { logo: '/logo.png', search },
  vite: {
    plugins: [chineseIndex(), licences()],
    publicDir: join(ROOT, '../../public'),
    // The repository's own configuration is for the console.
    configFile: false,
    build: { chunkSizeWarningLimit: 2000 },
  },
  markdown: { linkify: false, config: (md) => md.core.ruler.push('language-links', languageLinks) },
  // A strict Content-Security-Policy allows no inline script: they become files.
  transformHtml(html) {
    return html.replace(INLINE_SCRIPT, (_all, name: string, code: string) => {
      inlineScripts.set(name, code)
      return `<script src="/docs/assets/${name}.js"></script>`
    })
  },
  buildEnd({ outDir }) {
    for (const [name, code] of inlineScripts) {
      writeFileSync(join(outDir, 'assets', `${name}.js`), code)
    }
  },
})
