import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import react from '@vitejs/plugin-react'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, expect } from 'vitest'
import { launchBrowser, WAIT_MS } from '../browser.ts'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
}

/** A page with the widgets of the console, and what they report. */
export interface GalleryPage {
  page: Page
  /** The scene's `<output>`. */
  reported(): Promise<string>
}

type Scene = 'form' | 'table' | 'dialogs' | 'toasts' | 'inputs'

/**
 * The widgets built without the console (`gallery.tsx`), in a browser for the
 * tests around this call. Returns what opens a scene anew; a script that fails fails the suite.
 */
export function useGallery(scene: Scene): () => Promise<GalleryPage> {
  const faults: string[] = []
  let stop = async (): Promise<void> => {}
  let openPage: () => Promise<Page>
  beforeAll(async () => {
    const folder = await builtGallery()
    const server = createServer((request, response) => {
      const path = new URL(request.url ?? '/', 'http://localhost').pathname
      readFile(join(folder, path)).then(
        (bytes) =>
          response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? '' }).end(bytes),
        () => response.writeHead(404).end(),
      )
    }).listen(0, '127.0.0.1')
    const browser = await launchBrowser()
    // A server listening on TCP has an address object.
    const { port } = server.address() as AddressInfo
    openPage = async () => {
      const context = await browser.newContext({ locale: 'zh-CN', reducedMotion: 'reduce' })
      context.setDefaultTimeout(WAIT_MS)
      const page = await context.newPage()
      page.on('pageerror', (error) => faults.push(String(error)))
      await page.goto(`http://127.0.0.1:${port}/gallery.html#${scene}`)
      return page
    }
    stop = async () => {
      await browser.close()
      server.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
  afterAll(async () => {
    await stop()
    expect(faults).toEqual([])
  })
  return async () => {
    const page = await openPage()
    return { page, reported: () => page.locator('output').last().innerText() }
  }
}

async function builtGallery(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-gallery-'))
  const root = import.meta.dirname
  // A test run sets this to `test`, which would build React for development.
  const before = process.env['NODE_ENV']
  process.env['NODE_ENV'] = 'production'
  await build({
    configFile: false,
    logLevel: 'error',
    root,
    base: './',
    publicDir: false,
    plugins: [react()],
    define: { __CONSOLE_VERSION__: '"0.0.0"' },
    build: {
      outDir: folder,
      emptyOutDir: true,
      minify: false,
      target: 'esnext',
      rolldownOptions: { input: join(root, 'gallery.html') },
    },
  }).finally(() => {
    process.env['NODE_ENV'] = before
  })
  return folder
}

/** The accessible name of what has the focus. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const element = document.activeElement
    const label = element instanceof HTMLInputElement ? element.labels?.[0]?.textContent : undefined
    return element?.getAttribute('aria-label') ?? label ?? element?.textContent ?? ''
  })
