import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { tokenize } from '../tokenize.ts'
import './style.css'

export default {
  extends: DefaultTheme,
  enhanceApp({ siteData }) {
    // Queries are split as the index was.
    const { options } = siteData.value.themeConfig.search
    options.miniSearch.options = { tokenize }
  },
} satisfies Theme
