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

Redoc.init(
  place.dataset.description,
  { nonce, theme: isDark ? dark : light, expandResponses: '200', jsonSampleExpandLevel: 3 },
  place,
)
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => location.reload())
