import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { runtimeTabs } from '../src/runtime/runtime-tabs.ts'
import { pages } from '../src/shell/pages.ts'
import { type SampleData, sampleNames } from './sample-data.ts'

/** The browser of the distribution. The set-up of the tests installs it. */
const executablePath = '/usr/bin/chromium'

/** A theme of the console. */
type Theme = 'light' | 'dark'

/** The input of the pictures. */
interface Pictures {
  /** The directory of the pictures. It is made anew. */
  readonly out: string
  /** The address of a service with the sample data, and a key with the scopes admin and operator. */
  readonly url: string
  readonly apiKey: string
  readonly data: SampleData
  /** Called with each page after its picture. */
  readonly look?: (page: Page, shown: { readonly name: string; readonly theme: Theme }) => Promise<void>
}

/** A page of the pictures, which are `NAME-light.png` and `NAME-dark.png`. */
interface Pictured {
  readonly name: string
  readonly title: string
  /** The path in the console. */
  readonly path: string
  /** Shows more than the address alone does. */
  readonly prepare?: (page: Page) => Promise<void>
}

/**
 * Takes a picture of each page of the console in both themes, and of each tab of a runtime. Writes
 * them into a directory, with their list as `pictures.json`. Returns the number of pages.
 */
export async function takePictures({ out, data, ...pictures }: Pictures): Promise<number> {
  const pictured = pagesOf(data)
  await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  // Root has no user namespaces in every container, and the pages are the console's own.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    for (const theme of ['light', 'dark'] as const) await takeTheme(browser, { ...pictures, out, pictured, theme })
  } finally {
    await browser.close()
  }
  await writeFile(join(out, 'pictures.json'), JSON.stringify(pictured.map(({ name, title }) => ({ name, title }))))
  return pictured.length
}

function pagesOf(data: SampleData): readonly Pictured[] {
  return [
    ...pages.map(({ to, title }) => ({ name: nameOf(to), title, path: to })),
    { name: 'create', title: 'Create a runtime', path: '/runtimes?template=base-small' },
    { name: 'tree', title: 'The tree of forks', path: '/runtimes?view=tree' },
    { name: 'palette', title: 'The palette of commands', path: '/runtimes', prepare: openPalette },
    { name: 'template', title: 'One template', path: `/templates/${sampleNames.template}` },
    { name: 'new-build', title: 'Build a template', path: '/templates/build', prepare: beginFlask },
    { name: 'build', title: 'One build', path: `/builds/${data.buildId}` },
    { name: 'policy', title: 'One policy', path: `/policies/${sampleNames.policy}` },
    { name: 'webhook', title: 'One webhook', path: `/webhooks/${data.webhookId}` },
    ...tabsOf(data),
  ]
}

/** Returns the tabs of the runtime, without the one that needs a code interpreter. */
function tabsOf({ runtimeId, commandId }: SampleData): readonly Pictured[] {
  const files = `/runtimes/${runtimeId}/files`
  const more: Readonly<Record<string, Partial<Pictured>>> = {
    '/commands': { path: `/runtimes/${runtimeId}/commands?show=${commandId}` },
    '/terminal': { prepare: useTerminal },
    '/ports': { prepare: reachPort },
    '/files': { path: `${files}?path=/workspace` },
  }
  const tabs = runtimeTabs
    .filter(({ needsInterpreter }) => needsInterpreter !== true)
    .map(({ to, title }) => {
      const tab = to.replace('/runtimes/$runtimeId', '')
      const path = `/runtimes/${runtimeId}${tab}`
      return { name: `one-${nameOf(tab) || 'overview'}`, title: `One runtime: ${title}`, path, ...more[tab] }
    })
  const editor = { name: 'one-editor', title: 'One runtime: a file in the editor' }
  return [...tabs, { ...editor, path: `${files}?path=/workspace&open=/workspace/search.py` }]
}

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.getByPlaceholder('Find a command or a runtime').fill('a')
  await page.getByRole('menuitem', { name: 'Open agent' }).waitFor()
}

async function beginFlask(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'A Flask application' }).click()
  await page.getByText('0 refused').waitFor()
}

async function useTerminal(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Open a terminal' }).click()
  await page.locator('.xterm-rows').waitFor()
  await page.keyboard.type('cd /workspace && ls -l && python search.py\n')
  await page.locator('.xterm-rows').getByText('Another line.').waitFor()
}

async function reachPort(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Reach port 8000' }).click()
  await page.getByRole('button', { name: 'Show the token' }).waitFor()
}

interface Themed extends Pick<Pictures, 'out' | 'url' | 'apiKey' | 'look'> {
  readonly pictured: readonly Pictured[]
  readonly theme: Theme
}

async function takeTheme(browser: Browser, { out, url, apiKey, look, pictured, theme }: Themed): Promise<void> {
  const context = await browser.newContext({ colorScheme: theme, viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  await signIn(page, { url, apiKey })
  for (const { name, path, prepare } of pictured) {
    await page.goto(`${url}/console${path}`)
    await settle(page)
    await prepare?.(page)
    // A chart draws in the next frames, and the focus shows a moment later.
    await page.waitForTimeout(500)
    await page.screenshot({ path: join(out, `${name}-${theme}.png`) })
    await look?.(page, { name, theme })
  }
  await context.close()
}

/** Returns the name of a file for a path: `/runtimes` gives `runtimes`. */
function nameOf(path: string): string {
  return path.replace(/^\//, '').replaceAll(/[^\w-]+/g, '-')
}

/** Signs in by a link, as `holt console` does. */
async function signIn(page: Page, { url, apiKey }: Pick<Pictures, 'url' | 'apiKey'>): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}` }
  const answer = await page.request.post(new URL('/console/link', url).href, { headers })
  const { code } = (await answer.json()) as { readonly code: string }
  await page.goto(`${url}/console/#code=${code}`)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
}

/** Waits until a page has its heading, and shows nothing as loading. */
async function settle(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor()
  // A function in the page would need `eval`, which the policy of the console refuses.
  await page.locator('#content').filter({ hasNotText: 'Loading' }).waitFor()
}
