// Starts Redoc on the server's own description, in the colours that the reader prefers.
const { nonce } = document.currentScript
const place = document.getElementById('reference')
const isDark = matchMedia('(prefers-color-scheme: dark)').matches
const fontFamily = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif'
const code = { fontFamily: 'ui-monospace, Menlo, Consolas, monospace' }

const light = {
  colors: { primary: { main: '#0b6e62' } },
  typography: { fontFamily, headings: { fontFamily }, code, links: { color: '#0b6e62' } },
}
const dark = {
  colors: {
    primary: { main: '#5ad1c0', light: '#8fe3d6', dark: '#3fb8a8' },
    success: { main: '#5fd08a', light: '#16291e', dark: '#8fe3ae', contrastText: '#0d1512' },
    error: { main: '#ff8f8f', light: '#33191b', dark: '#ffb3b3', contrastText: '#1b0d0e' },
    text: { primary: '#e4e7ea', secondary: '#a8b0b8' },
    gray: { 50: '#1b1f24', 100: '#242a31' },
    border: { light: '#2f363e', dark: '#3d4650' },
    responses: {
      success: { color: '#8fe3ae', backgroundColor: '#16291e', tabTextColor: '#8fe3ae' },
      error: { color: '#ffb3b3', backgroundColor: '#33191b', tabTextColor: '#ffb3b3' },
      redirect: { color: '#f3d08b', backgroundColor: '#2c2415', tabTextColor: '#f3d08b' },
      info: { color: '#9fc9f5', backgroundColor: '#172534', tabTextColor: '#9fc9f5' },
    },
  },
  schema: {
    nestedBackground: '#1b1f24',
    typeNameColor: '#a8b0b8',
    typeTitleColor: '#a8b0b8',
    linesColor: '#3d4650',
    arrow: { color: '#a8b0b8' },
  },
  sidebar: { backgroundColor: '#171b1f', textColor: '#e4e7ea', activeTextColor: '#5ad1c0' },
  rightPanel: { backgroundColor: '#0f1215', textColor: '#e4e7ea' },
  codeBlock: { backgroundColor: '#171b1f' },
  typography: {
    fontFamily,
    headings: { fontFamily },
    code: { ...code, color: '#f0a8a8', backgroundColor: '#242a31' },
    links: { color: '#5ad1c0', visited: '#5ad1c0', hover: '#8fe3d6' },
  },
  fab: { backgroundColor: '#242a31', color: '#5ad1c0' },
}

/** The console's language, which a link may override; Chinese is its default. */
function languageOf() {
  const linked = new URLSearchParams(location.search).get('language')
  try {
    return (linked ?? localStorage.getItem('language')) === 'en' ? 'en' : 'zh'
  } catch {
    return linked === 'en' ? 'en' : 'zh'
  }
}
const language = languageOf()
document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en'

const labels = {
  enum: '可选值',
  enumSingleValue: '固定值',
  enumArray: '元素',
  default: '默认值',
  deprecated: '已弃用',
  example: '示例',
  examples: '示例',
  recursive: '递归',
  arrayOf: '数组：',
  const: '固定值',
  noResultsFound: '没有找到',
  download: '下载',
  downloadSpecification: '下载 OpenAPI 描述',
  responses: '响应',
  requestSamples: '请求示例',
  responseSamples: '响应示例',
}

const texts = {
  'Search...': '搜索…',
  'Authorizations:': '认证方式：',
  ' Parameters': ' 参数',
  'Request Body schema: ': '请求体：',
  'Response Schema: ': '响应体：',
  ' Response Headers ': ' 响应头 ',
  'Content type': '内容类型',
  Payload: '请求体',
  Copy: '复制',
  Copied: '已复制',
  ' Expand all ': ' 全部展开 ',
  ' Collapse all ': ' 全部收起 ',
  required: '必填',
  characters: '个字符',
  items: '项',
  'non-empty': '非空',
  'One of': '其中之一',
  'Any of': '任意一种',
  'property name': '字段名',
  'additional property': '任意字段',
}

async function show() {
  const headers = { 'Accept-Language': document.documentElement.lang }
  const response = await fetch(place.dataset.description, { headers })
  if (!response.ok) throw new Error(`HTTP ${response.status}`)
  if (language === 'zh') window.redocTexts = texts
  const options = {
    nonce,
    theme: isDark ? dark : light,
    expandResponses: '200',
    jsonSampleExpandLevel: 3,
    minCharacterLengthToInitSearch: 2,
    downloadUrls: [{ url: place.dataset.description }],
    ...(language === 'zh' ? { labels } : {}),
  }
  Redoc.init(await response.json(), options, place)
}

show().catch((error) => {
  place.textContent =
    language === 'zh'
      ? `接口文档加载失败（${error.message}），请稍后刷新页面。`
      : `The API reference could not be loaded (${error.message}). Reload the page later.`
})
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => location.reload())
