import './app/shell/tokens.css'
import { MantineProvider } from '@mantine/core'
import '@mantine/core/styles/baseline.layer.css'
import '@mantine/core/styles/global.layer.css'
import '@mantine/core/styles/UnstyledButton.layer.css'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { startI18n } from './app/i18n.ts'
import { PagesContext } from './app/routing/pages.ts'
import { createConsoleRouter } from './app/routing/router.tsx'
import { watchFiles } from './app/routing/missing-files.ts'
import { cssVariables, theme } from './app/shell/theme.ts'
import { styleNonce } from './app/shell/style-nonce.ts'
import { followStatus, loadStatus } from './app/status.ts'
import { pages } from './routes.tsx'

watchFiles()
await startI18n()
void loadStatus()
followStatus()

const router = createConsoleRouter(pages)
const place = document.getElementById('root')
if (place === null) throw new Error('index.html has no #root')

createRoot(place).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      deduplicateCssVariables={false}
      defaultColorScheme="auto"
      getStyleNonce={styleNonce}
    >
      <PagesContext value={pages}>
        <RouterProvider router={router} />
      </PagesContext>
    </MantineProvider>
  </StrictMode>,
)
