import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { runtimeTabs } from '../src/runtime/runtime-tabs.ts'
import { pages } from '../src/shell/pages.ts'

/** The browser of the distribution. The set-up of the tests installs it. */
const executablePath = '/usr/bin/chromium'

/** A service, and a key for it. */
export interface PicturedService {
  readonly url: string
  readonly apiKey: string
  /** A runtime whose tabs are shown. */
  readonly runtimeId: string
}

/** A page of the pictures, which are `NAME-light.png` and `NAME-dark.png`. */
interface Pictured {
  readonly name: string
  readonly title: string
  /** The path in the console. */
  readonly path: string
}

/**
 * Takes a picture of each page of the console in both themes, and of each tab of a runtime. Writes
 * them into a directory, with their list as `pictures.json`. Returns the number of pages.
 */
export async function takePictures(out: string, service: PicturedService): Promise<number> {
  const pictured = pagesOf(service)
  await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  // Root has no user namespaces in every container, and the pages are the console's own.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    for (const theme of ['light', 'dark'] as const) await takeTheme(browser, { out, service, pictured, theme })
  } finally {
    await browser.close()
  }
  await writeFile(join(out, 'pictures.json'), JSON.stringify(pictured.map(({ name, title }) => ({ name, title }))))
  return pictured.length
}

function pagesOf({ runtimeId }: PicturedService): readonly Pictured[] {
  return [
    ...pages.map(({ to, title }) => ({ name: nameOf(to), title, path: to })),
    { name: 'create', title: 'Create a runtime', path: '/runtimes?template=base-small' },
    { name: 'tree', title: 'The tree of forks', path: '/runtimes?view=tree' },
    ...runtimeTabs.map(({ to, title }) => ({
      name: nameOf(to.replace('/$runtimeId', '-one')),
      title: `One runtime: ${title}`,
      path: to.replace('$runtimeId', runtimeId),
    })),
  ]
}

interface Themed {
  readonly out: string
  readonly service: PicturedService
  readonly pictured: readonly Pictured[]
  readonly theme: 'light' | 'dark'
}

async function takeTheme(browser: Browser, { out, service, pictured, theme }: Themed): Promise<void> {
  const context = await browser.newContext({ colorScheme: theme, viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  await signIn(page, service)
  for (const { name, path } of pictured) {
    await page.goto(`${service.url}/console${path}`)
    await settle(page)
    await page.screenshot({ path: join(out, `${name}-${theme}.png`) })
  }
  await context.close()
}

/** Returns the name of a file for a path: `/runtimes` gives `runtimes`. */
function nameOf(path: string): string {
  return path.replace(/^\//, '').replaceAll(/[^\w-]+/g, '-')
}

/** Signs in by a link, as `holt console` does. */
async function signIn(page: Page, { url, apiKey }: PicturedService): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}` }
  const answer = await fetch(new URL('/console/link', url), { method: 'POST', headers })
  const { code } = (await answer.json()) as { readonly code: string }
  await page.goto(`${url}/console/#code=${code}`)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
}

/** Waits until a page has its heading, and shows nothing as loading. */
async function settle(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.waitForFunction("!/Loading/.test(document.getElementById('content').textContent)")
  // A chart draws in the next frames.
  await page.waitForTimeout(1000)
}
