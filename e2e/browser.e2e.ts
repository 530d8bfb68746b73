import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from './browser.ts'

let browser: Browser
const servers: Server[] = []

beforeAll(async () => {
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser.close()
  for (const server of servers) server.close()
})

async function serve(html: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8').end(html)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (!address || typeof address !== 'object') throw new Error('The system gave no port.')
  return `http://127.0.0.1:${address.port}/`
}

// A browser without a Chinese font draws the same empty box for every character.
test('renders distinct Chinese characters', async () => {
  const page = await browser.newPage()
  await page.goto(await serve('<canvas id="canvas" width="60" height="60"></canvas>'))
  const pictures = await page.evaluate(() =>
    ['令', '牌', '渠', '道', '额', '度'].map((character) => {
      const canvas = document.createElement('canvas')
      const pen = canvas.getContext('2d')
      if (!pen) return ''
      pen.font = '40px sans-serif'
      pen.fillText(character, 5, 45)
      return canvas.toDataURL()
    }),
  )
  expect(new Set(pictures).size).toBe(6)
  await page.close()
})

// The package's recommended arguments disable web security, which would make tests of CSRF and CORS
// meaningless.
test('enforces the same-origin policy', async () => {
  const other = await serve('other origin')
  const page = await browser.newPage()
  await page.goto(await serve('one origin'))
  const outcome = await page.evaluate(
    (url) =>
      fetch(url).then(
        () => 'read',
        () => 'refused',
      ),
    other,
  )
  expect(outcome).toBe('refused')
  await page.close()
})
