import { randomInt } from 'node:crypto'
import { Command, pageOf } from '@holt/protocol'
import { describe, expect, it } from 'vitest'
import { openByLink, openWindow, type Visit } from '../packages/console/test/support/browser.ts'
import { call, success } from './support/api.ts'
import { crash, restart } from './support/crash.ts'
import { service } from './support/facts.ts'
import { createRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const withoutGvisor = service.unavailable.gvisor !== null && !process.env.CI

/** The service as the pages of the console are opened with it. */
const linkMaker = {
  server: { url: service.url },
  ask: async (method: string, path: string) => {
    const { status, headers, text } = await call(method, path)
    return { status, headers: new Headers(headers as Record<string, string>), text, json: JSON.parse(text) }
  },
}

/** Opens a terminal of a runtime with a shell, in a browser that is signed in. */
async function openTerminal(name: string, shell: string): Promise<Visit> {
  const visit = await openWindow()
  const { page } = visit
  await openByLink(linkMaker, visit)
  await page.getByRole('link', { name }).click()
  await page.getByRole('link', { name: 'Terminal', exact: true }).click()
  await page.getByLabel('Shell', { exact: true }).fill(shell)
  await page.getByRole('button', { name: 'Open a terminal' }).click()
  await page.locator('.xterm-rows').waitFor()
  return visit
}

const screenText = async ({ page }: Visit) => (await page.locator('.xterm-rows > div').allTextContents()).join('')

/** Letters and digits at random, so that a key that is missing or repeated is seen. */
function randomKeys(count: number): string {
  return Array.from({ length: count }, () => randomInt(36).toString(36)).join('')
}

// The person types on while the daemon is killed and starts again.
describe.skipIf(withoutGvisor)('a terminal of the console', () => {
  it('comes back after a kill -9 of the service, and its shell gets every key once', async () => {
    await using runtime = await createRuntime({ name: 'typed-into' })
    const visit = await openTerminal('typed-into', 'stty raw -echo; echo ready; exec tee /tmp/keys')
    const { page } = visit
    await until('the shell is ready', async () => (await screenText(visit)).includes('ready'))
    const got = async () => (await runtime.run('cat /tmp/keys')).stdout
    let typed = ''
    for (let round = 0; round < 3; round += 1) {
      const keys = randomKeys(400)
      const typing = page.keyboard.type(keys, { delay: 12 })
      const half = typed + keys.slice(0, 40)
      typed += keys
      await until('some keys have arrived', async () => (await got()).startsWith(half))
      await crash()
      await page.getByText(/^Reconnecting\. /).waitFor()
      await restart()
      await typing
      await until('all keys have arrived', async () => (await got()).length >= typed.length, 90_000)
      expect(await got()).toBe(typed)
      await page
        .getByText(/^Reconnecting/)
        .first()
        .waitFor({ state: 'detached' })
    }
    // The screen has them too, and nothing was said to be lost.
    const shown = await screenText(visit)
    expect(shown.replaceAll(/\s/g, '')).toContain(typed.slice(-100))
    expect(await page.getByText('may not have been typed').count()).toBe(0)
    await page.getByRole('button', { name: 'End…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'End', exact: true }).click()
    await page.getByText('The shell was ended by SIGKILL.').waitFor()
  }, 300_000)

  it('is the login shell of the user, with its size, and a reload finds it again', async () => {
    await using runtime = await createRuntime({ name: 'logged-in' })
    const visit = await openTerminal('logged-in', '')
    const { page } = visit
    const shows = (text: RegExp) => until(`it shows ${text}`, async () => text.test(await screenText(visit)))
    await page.keyboard.type('id -un; stty size; kept=there\n')
    await shows(/user.*\d+ \d+/s)
    await page.keyboard.type('echo $((40 + 2))\n')
    await shows(/42/)
    await page.reload()
    await page.locator('.xterm-rows').waitFor()
    await shows(/42/)
    await page.keyboard.type('clear; echo still $kept; stty size\n')
    await shows(/still there/)
    const list = success(await runtime.call('GET', '/commands', { query: { state: 'running' } }), 200, pageOf(Command))
    const size = list.data[0]?.pty
    await shows(new RegExp(`${size?.rows} ${size?.cols}`))
    await page.keyboard.type('exit 5\n')
    await page.getByText('The shell has ended with exit code 5.').waitFor()
    expect(visit.complaints).toEqual([])
  }, 180_000)
})
