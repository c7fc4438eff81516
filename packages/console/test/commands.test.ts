import { describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../server/test/support/start-test-server.ts'
import { openByLink, openWindow, type Visit } from './support/browser.ts'
import { faultsOf } from './support/faults-of.ts'

type WindowOptions = Parameters<typeof openWindow>[0]

/** A server with a runtime, and a browser at its commands. */
async function setUp(options: WindowOptions = {}, scopes: readonly string[] = []) {
  const server = await startTestServer()
  const id = await server.makeRuntime({ name: 'mine' })
  const visit = await openWindow(options)
  const key = scopes.length === 0 ? undefined : (await server.makeKey(...scopes)).key
  await openByLink(server, visit, key)
  await visit.page.getByRole('link', { name: 'mine' }).click()
  await visit.page.getByRole('link', { name: 'Commands', exact: true }).click()
  return { server, id, visit, page: visit.page, path: `/v1/agents/runtime/${id}` }
}

async function start({ ask }: TestServer, path: string, json: object): Promise<string> {
  return (await ask('POST', `${path}/commands`, { json: { background: true, ...json } })).json.command_id
}

const output = ({ page }: Visit) => page.getByLabel('Output', { exact: true })

describe('commands', () => {
  test('are run by a form that shows the same line, and their output and end are shown', async () => {
    const { server, visit, page, path } = await setUp()
    await page.getByText('No commands yet').waitFor()
    await page.getByLabel('Command', { exact: true }).fill('printenv GREETING')
    await page.getByText('Options').click()
    await page.getByLabel('Environment').fill('GREETING=hello there')
    await page.getByLabel('Directory').fill('/srv')
    await page.getByLabel('Time limit (seconds)').fill('20')
    const line = "holt exec --cwd /srv --env 'GREETING=hello there' --timeout 20 mine -- sh -c 'printenv GREETING'"
    await page.getByText(line).waitFor()
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await output(visit).getByText('hello there').waitFor()
    const shown = page.getByRole('region', { name: 'The command' })
    await shown.getByText('exit code 0').waitFor()
    await shown.getByText('in /srv').waitFor()
    const [command] = (await server.ask('GET', `${path}/commands`)).json.data
    expect(command).toMatchObject({ command: 'printenv GREETING', cwd: '/srv' })
    // A reload shows the same command, and commands of others appear.
    await page.reload()
    await output(visit).getByText('hello there').waitFor()
    await start(server, path, { command: 'complain loudly' })
    const row = page.getByRole('row', { name: 'complain loudly' })
    await row.getByText('exit code 1').waitFor()
    await row.getByRole('link').click()
    await output(visit).locator('.stderr').getByText('loudly').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('are followed while they run, get signals, and are killed after a question', async () => {
    const { server, visit, page, path } = await setUp()
    const id = await start(server, path, { command: 'cat', stdin: true })
    await page.getByRole('row', { name: 'cat' }).getByRole('link').click()
    for (const data of ['one ', 'two']) {
      await server.ask('POST', `${path}/commands/${id}/stdin`, { json: { data } })
      await output(visit).getByText(data.trim()).waitFor()
    }
    await page.getByRole('button', { name: 'Kill…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Keep' }).click()
    expect((await server.ask('GET', `${path}/commands/${id}`)).json.state).toBe('running')
    await page.getByRole('button', { name: 'Kill…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Kill', exact: true }).click()
    const shown = page.getByRole('region', { name: 'The command' })
    await shown.getByText('ended by SIGKILL').waitFor()
    await start(server, path, { command: 'sleep' })
    await page.getByRole('row', { name: 'sleep' }).getByRole('link').click()
    await page.getByLabel('Signal').selectOption('SIGTERM')
    await page.getByRole('button', { name: 'Send' }).click()
    await shown.getByText('ended by SIGTERM').waitFor()
    expect(await page.getByRole('button', { name: 'Kill…' }).count()).toBe(0)
    expect(visit.complaints).toEqual([])
  })

  test('show hostile output and hostile names as text, and keep a bounded part of floods', async () => {
    const { server, visit, page, path } = await setUp()
    const hostile = '\u001b]52;c;aGFja2Vk\u0007\u001b[31m<img src=x onerror=alert(1)>\u202e\u001b[0m'
    await start(server, path, { argv: ['bytes', Buffer.from(hostile).toString('hex'), '<b>name</b>'] })
    const row = page.getByRole('row', { name: '<b>name</b>' })
    await row.getByRole('link').click()
    await expect.poll(() => output(visit).textContent()).toBe('<img src=x onerror=alert(1)>')
    expect(await page.locator('main img, main b').count()).toBe(0)
    await start(server, path, { command: 'fill 3000000' })
    await page.getByRole('row', { name: 'fill 3000000' }).getByRole('link').click()
    await page.getByText('Earlier output is not shown').waitFor()
    await page.getByRole('region', { name: 'The command' }).getByText('exit code 0').waitFor()
    await expect.poll(async () => (await output(visit).textContent())?.length).toBe(256 * 1024)
    expect(visit.complaints).toEqual([])
  })

  test('of a paused runtime are shown after a resume, which looking at them is not', async () => {
    const { server, page, path } = await setUp()
    await start(server, path, { command: 'echo before' })
    await page.getByRole('row', { name: 'echo before' }).waitFor()
    await server.ask('POST', `${path}/pause`)
    const state = async () => (await server.ask('GET', path)).json.state
    await page.locator('.title').getByText('paused').waitFor()
    await new Promise((resolve) => setTimeout(resolve, 5_000)) // That nothing happens takes a while to see.
    expect([await state(), await page.getByRole('row', { name: 'echo before' }).count()]).toEqual(['paused', 1])
    await page.reload()
    await page.getByText('The runtime is paused').waitFor()
    expect(await state()).toBe('paused')
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('row', { name: 'echo before' }).waitFor()
  })

  test('are shown without actions to a key that may only read', async () => {
    const { server, page, path, visit } = await setUp({}, ['runtime:read'])
    await start(server, path, { command: 'sleep' })
    await page.getByRole('row', { name: 'sleep' }).getByRole('link').click()
    await output(visit).waitFor()
    expect(await page.getByRole('button', { name: /Run|Kill|Send/ }).count()).toBe(0)
  })
})

test.each(['light', 'dark'] as const)('the tab of commands is accessible in the %s theme', async (colorScheme) => {
  const { server, page, path, visit } = await setUp({ colorScheme, viewport: { width: 360, height: 740 } })
  await page.getByText('No commands yet').waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  await page.getByText('Options').click()
  await start(server, path, { argv: ['complain', 'a-word-of-many-letters-'.repeat(20)] })
  const row = page.getByRole('row', { name: /^complain/ })
  await row.getByText('exit code 1').waitFor()
  // The arrows lead from a row to what is in it.
  await row.focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  await output(visit).locator('.stderr').waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  expect(visit.complaints).toEqual([])
})
