import { type Browser, type BrowserContext, chromium, type Page, type Request } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished, vi } from 'vitest'
import { keepTrace, startTrace } from './keep-trace.ts'

/** The browser of the distribution. The set-up of the tests installs it. */
const executablePath = '/usr/bin/chromium'

// A browser starts several processes, and the machine may be busy with others.
vi.setConfig({ testTimeout: 180_000 })

let browser: Browser
beforeAll(async () => {
  // Root has no user namespaces in every container, and the pages are the console's own.
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
})
afterAll(() => browser.close())

export interface Visit {
  readonly page: Page
  readonly context: BrowserContext
  /** The browser's complaints: violations of the policy, and errors of scripts. */
  readonly complaints: string[]
}

type WindowOptions = NonNullable<Parameters<Browser['newContext']>[0]> & {
  /** False for a test that measures: a trace takes time and memory. */
  readonly traced?: boolean
}

/** Opens a browser window of its own. If the test fails, its trace is kept. */
export async function openWindow({ traced = true, ...options }: WindowOptions = {}): Promise<Visit> {
  const context = await browser.newContext(options)
  if (traced) await startTrace(context)
  const page = await context.newPage()
  page.setDefaultTimeout(40_000)
  const complaints: string[] = []
  page.on('console', (message) => {
    // A browser notes each answer of 4xx. The console shows those to people.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  onTestFinished(async ({ task }) => {
    if (traced && task.result?.state === 'fail')
      for (const path of await keepTrace(context, task.name)) process.stderr.write(`kept ${path}\n`)
    // Without it, the files of the trace stay in the temporary directory.
    else if (traced) await context.tracing.stop()
    await context.close()
  })
  return { page, context, complaints }
}

/** A service, and a client of it with the admin key. */
interface AskedService {
  readonly server: { readonly url: string }
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  ask(method: string, path: string, request?: { readonly key?: string }): Promise<{ readonly json: any }>
}

/** Opens the console by a link, as `holt console` does. */
export async function openByLink({ server, ask }: AskedService, { page }: Visit, key?: string): Promise<void> {
  const { code } = (await ask('POST', '/console/link', key === undefined ? {} : { key })).json
  // Other tests make network devices on this machine. Chromium then drops the requests under way.
  let isDropped = false
  const note = (request: Request) => {
    if (request.failure()?.errorText === 'net::ERR_NETWORK_CHANGED') isDropped = true
  }
  page.on('requestfailed', note)
  await page.goto(`${server.url}/console/#code=${code}`)
  page.off('requestfailed', note)
  if (isDropped) await page.reload()
}
