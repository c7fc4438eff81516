import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../server/test/support/start-test-server.ts'
import { runtimeTabs } from '../src/runtime/runtime-tabs.ts'
import { pages } from '../src/shell/pages.ts'
import { openByLink, openWindow } from './support/browser.ts'
import { faultsOf } from './support/faults-of.ts'

/** The narrowest window to which a page has to adapt (WCAG 2.2, 1.4.10). */
const narrowest = 320

/** The pages that have nothing to show in a new project, and the command that makes the first. */
const commands: Readonly<Record<string, string>> = {
  '/runtimes': 'holt create -n mine',
  '/builds': 'holt template build -t web .',
  '/snapshots': 'holt snapshot create mine',
  '/policies': 'holt policy create build',
  '/secrets': 'holt secret set stripe',
  '/providers': 'holt provider set cloud',
  '/webhooks': 'holt webhook create',
}

/** The paths of all pages of one thing, with one of each thing that a test needs. */
async function thingsOf(server: TestServer): Promise<readonly string[]> {
  const id = await server.makeRuntime({ name: 'mine' })
  await server.ask('POST', '/v1/agents/network-policy', { json: { name: 'agent', include: ['npm'] } })
  const tabs = runtimeTabs.map(({ to }) => to.replace('$runtimeId', id))
  return [...tabs, '/policies/agent', '/templates/base-small', '/templates/build']
}

/** Opens a page by its address, and waits until it has its heading and nothing is loading. */
async function open(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  await page.locator('#content').filter({ hasNotText: 'Loading' }).waitFor()
  await page.locator('#content').locator('h1, [role=alert]').first().waitFor()
}

test.each(['light', 'dark'] as const)(
  'every page of a new project says what to do first, and is accessible in the %s theme, on the narrowest phone',
  { timeout: 300_000 },
  async (colorScheme) => {
    const server = await startTestServer()
    const visit = await openWindow({ colorScheme, viewport: { width: narrowest, height: 740 } })
    const { page } = visit
    await openByLink(server, visit)
    await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
    expect(Object.keys(commands).filter((path) => !pages.some(({ to }) => to === path))).toEqual([])
    const found: Record<string, unknown> = {}
    const look = async (path: string) => {
      await open(page, `${server.server.url}/console${path}`)
      const command = commands[path]
      if (command !== undefined) await page.locator('.empty pre').getByText(command).waitFor()
      found[path] = {
        faults: await faultsOf(page, colorScheme),
        width: await page.evaluate('document.documentElement.scrollWidth'),
        title: await page.title(),
      }
    }
    for (const { to } of pages) await look(to)
    for (const path of await thingsOf(server)) await look(path)
    const expected = { faults: [], width: narrowest, title: expect.stringMatching(/^.+ · Holt$/) }
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map((path) => [path, expected])))
    expect(visit.complaints).toEqual([])
  },
)

test('every page shows the hint and the id of a request that is refused', async () => {
  const server = await startTestServer()
  const paths = [...pages.map(({ to }) => to), ...(await thingsOf(server))]
  const visit = await openWindow()
  const { page } = visit
  await openByLink(server, visit)
  await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
  const error = { code: 'conflict', message: 'It is in use.', hint: 'Wait a moment.', request_id: 'rqrefused' }
  await page.route(/\/v1\/agents\//, (route) =>
    route.fulfill({ status: 409, json: { error }, headers: { 'x-request-id': error.request_id } }),
  )
  // The form of a build asks nothing before something is typed.
  for (const path of paths.filter((each) => each !== '/templates/build')) {
    await page.goto(`${server.server.url}/console${path}`)
    const alert = page.locator('main').getByRole('alert').first()
    await alert.getByText(error.hint).waitFor()
    await alert.getByText(`Request ${error.request_id}`).waitFor()
    expect([path, await page.locator('main').getByText('Loading').count()]).toEqual([path, 0])
  }
  expect(visit.complaints).toEqual([])
})

test('the theme is chosen for this browser, and stays', async () => {
  const server = await startTestServer()
  const visit = await openWindow({ colorScheme: 'light' })
  const { page } = visit
  const back = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  await openByLink(server, visit)
  await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
  const light = await back()
  await page.getByRole('button', { name: 'Theme: system' }).click()
  expect(await back()).toBe(light)
  await page.getByRole('button', { name: 'Theme: light' }).click()
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
  const dark = await back()
  expect(dark).not.toBe(light)
  await page.reload()
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
  expect(await back()).toBe(dark)
  // Other tabs of the browser begin with it, too. The system decides again after the next change.
  await page.getByRole('button', { name: 'Theme: dark' }).click()
  expect(await back()).toBe(light)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(back).toBe(dark)
  expect(visit.complaints).toEqual([])
})
