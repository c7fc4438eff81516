import { expect } from 'vitest'
import { startTestServer, type TestServer } from '../../../server/test/support/start-test-server.ts'
import { openByLink, openWindow, type Visit } from './browser.ts'

type WindowOptions = Parameters<typeof openWindow>[0]

/** Starts a server with a runtime, and a browser at its terminals. */
export async function openTerminals(options: WindowOptions = {}, scopes: readonly string[] = []) {
  const server = await startTestServer()
  const id = await server.makeRuntime({ name: 'mine' })
  const visit = await openWindow(options)
  const key = scopes.length === 0 ? undefined : (await server.makeKey(...scopes)).key
  await openByLink(server, visit, key)
  await visit.page.getByRole('link', { name: 'mine' }).click()
  await visit.page.getByRole('link', { name: 'Terminal', exact: true }).click()
  return { server, visit, page: visit.page, path: `/v1/agents/runtime/${id}` }
}

/** Opens a terminal whose shell is `cat`: it shows what is typed. */
export async function openCat(page: Visit['page']): Promise<void> {
  await page.getByLabel('Shell', { exact: true }).fill('cat')
  await page.getByRole('button', { name: 'Open a terminal' }).click()
  await page.locator('.xterm-rows').waitFor()
}

/** Returns a function that reads the text of the screen. */
export const screenText = (page: Visit['page']) => async () =>
  (await page.locator('.xterm-rows > div').allTextContents())
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()

/** Waits until the screen shows a text. */
export const shows = (page: Visit['page'], text: string | RegExp) =>
  expect.poll(screenText(page), { timeout: 40_000 }).toMatch(text)

/** Returns the newest command. */
export async function newest({ ask }: TestServer, path: string) {
  const [command] = (await ask('GET', `${path}/commands`)).json.data
  return command as { readonly command_id: string; readonly pty: { readonly cols: number; readonly rows: number } }
}

/** Returns the output of a command. */
export async function written({ ask }: TestServer, path: string, commandId: string): Promise<string> {
  const { text } = await ask('GET', `${path}/commands/${commandId}/output`)
  const items = text.split('\n').filter((line) => line !== '')
  return Buffer.concat(
    items.map((line) => {
      const { data, encoding } = JSON.parse(line)
      return Buffer.from(data ?? '', encoding ?? 'utf-8')
    }),
  ).toString()
}

/** Makes `cat` write something to its terminal, as hostile output would come. */
export async function output({ ask }: TestServer, path: string, data: string): Promise<void> {
  const [command] = (await ask('GET', `${path}/commands`)).json.data
  const answer = await ask('POST', `${path}/commands/${command.command_id}/stdin`, { json: { data } })
  expect(answer.status).toBe(200)
}
