import { mkdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { BrowserContext } from 'playwright-core'

const root = join(import.meta.dirname, '../../../..')

/** The directory of traces and pictures of failed tests. Git ignores it. */
const tracesDir = join(root, '.holt/test/console')

/**
 * Records the requests of a window, the calls of the test, and pictures. It takes no snapshots of
 * pages: their styles are inline, so the policy of the console would refuse them.
 */
export async function startTrace(context: BrowserContext): Promise<void> {
  await context.tracing.start({ screenshots: true, snapshots: false })
}

/**
 * Keeps the trace of a window of a failed test, and a picture of each page. Returns their paths
 * below the root. `npx playwright show-trace FILE` and https://trace.playwright.dev show a trace.
 */
export async function keepTrace(context: BrowserContext, test: string): Promise<readonly string[]> {
  await mkdir(tracesDir, { recursive: true })
  const name = `${test.replaceAll(/[^\w]+/g, '-').slice(0, 80)}-${Date.now()}`
  const trace = join(tracesDir, `${name}.zip`)
  const pictures: string[] = []
  for (const [at, page] of context.pages().entries()) {
    const path = join(tracesDir, `${name}-${at + 1}.png`)
    // A page that does not answer has no picture, and the trace shows how it came to that.
    const isTaken = await page.screenshot({ path, timeout: 5_000 }).then(
      () => true,
      () => false,
    )
    if (isTaken) pictures.push(path)
  }
  await context.tracing.stop({ path: trace })
  return [trace, ...pictures].map((path) => relative(root, path))
}
