import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../server/src/index.ts'
import { testDatabase } from '../../server/test/support/test-store.ts'
import { openByLink, openWindow } from './support/browser.ts'
import { faultsOf } from './support/faults-of.ts'
import { newest, openCat, openTerminals, output, screenText, shows, written } from './support/terminal-page.ts'

describe('terminals', () => {
  test('get keys and pastes, follow the size of the window, and are left by a key', async () => {
    const { server, visit, page, path } = await openTerminals()
    await visit.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByText('No terminal is open').waitFor()
    await openCat(page)
    await page.keyboard.type('hello')
    await shows(page, 'hello')
    const { command_id: id } = await newest(server, path)
    const size = async () => (await newest(server, path)).pty
    await expect.poll(async () => (await size()).cols).toBeGreaterThan(80)
    const before = await size()
    await page.setViewportSize({ width: 900, height: 600 })
    await expect.poll(async () => (await size()).cols).toBeLessThan(before.cols)
    // A paste cannot end its own brackets, nor bring other escapes.
    await page.evaluate(`navigator.clipboard.writeText('\\u001b[201~pasted\\u0003')`)
    await page.getByRole('button', { name: 'Paste' }).click()
    await expect.poll(() => written(server, path, id)).toBe('hello[201~pasted')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Control+k')
    await expect.poll(() => written(server, path, id)).toBe('hello[201~pasted\t\u000b')
    await page.keyboard.press('Control+m')
    expect(await page.evaluate('document.activeElement.getAttribute("role")')).toBe('tab')
    await page.keyboard.press('Tab')
    expect(await written(server, path, id)).toBe('hello[201~pasted\t\u000b')
    expect(visit.complaints).toEqual([])
  })

  test('have names, survive a reload, and can be left and attached to again', async () => {
    const { server, visit, page, path } = await openTerminals()
    await openCat(page)
    await page.keyboard.type('in the first')
    await shows(page, 'in the first')
    await openCat(page)
    await page.getByRole('tab', { name: 'Terminal 2' }).waitFor()
    await page.keyboard.type('in the second')
    await shows(page, 'in the second')
    await page.getByLabel('Name', { exact: true }).fill('<b>build</b>')
    await page.getByRole('tab', { name: '<b>build</b>' }).waitFor()
    await page.reload()
    await page.getByRole('tab', { name: '<b>build</b>', selected: true }).waitFor()
    await shows(page, 'in the second')
    await page.keyboard.type('!')
    await shows(page, 'in the second!')
    await page.getByRole('tab', { name: 'Terminal 1' }).click()
    await shows(page, 'in the first')
    expect(await page.locator('main b').count()).toBe(0)
    await page.getByRole('button', { name: 'Detach' }).click()
    await page.getByRole('tab', { name: 'Terminal 1' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Attach to/ }).click()
    await shows(page, 'in the first')
    expect((await server.ask('GET', `${path}/commands`)).json.data.length).toBe(2)
    expect(visit.complaints).toEqual([])
  })

  test('show how their shell has ended, and open it again', async () => {
    const { server, visit, page, path } = await openTerminals()
    await openCat(page)
    await page.keyboard.press('a')
    await page.getByRole('button', { name: 'End…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'End', exact: true }).click()
    await page.getByText('The shell was ended by SIGKILL.').waitFor()
    await page.getByRole('button', { name: 'Open again' }).click()
    await page.getByText('The shell was ended by SIGKILL.').waitFor({ state: 'detached' })
    expect((await server.ask('GET', `${path}/commands?state=running`)).json.data.length).toBe(1)
    expect(await page.getByRole('tab').allTextContents()).toEqual(['Terminal 1'])
    await page.getByLabel('Shell', { exact: true }).fill('exit 3')
    await page.getByRole('button', { name: 'Open a terminal' }).click()
    await page.getByText('The shell has ended with exit code 3.').waitFor()
    await page.getByRole('button', { name: 'Close the tab' }).click()
    expect(await page.getByRole('tab').allTextContents()).toEqual(['Terminal 1'])
    expect(visit.complaints).toEqual([])
  })

  test('have one writer: another window watches, until it takes over', async () => {
    const { server, visit, page, path } = await openTerminals()
    await openCat(page)
    await page.keyboard.type('one;')
    await shows(page, 'one;')
    const other = await openWindow()
    await openByLink(server, other)
    await other.page.getByRole('link', { name: 'mine' }).click()
    await other.page.getByRole('link', { name: 'Terminal', exact: true }).click()
    await other.page.getByRole('button', { name: /^Attach to/ }).click()
    await shows(other.page, 'one;')
    await other.page.getByText('your keys go nowhere').waitFor()
    await other.page.getByRole('button', { name: 'Take over' }).click()
    await page.getByText('your keys go nowhere').waitFor()
    await other.page.locator('.screen').click()
    await other.page.keyboard.type('two;')
    await shows(page, 'one;two;')
    const { command_id: id } = await newest(server, path)
    expect(await written(server, path, id)).toBe('one;two;')
    expect([visit.complaints, other.complaints]).toEqual([[], []])
  })

  test('are only watched with a key that may only read', async () => {
    const { server, page, path } = await openTerminals({}, ['runtime:read'])
    const json = { command: 'cat', pty: { cols: 40, rows: 10 }, background: true }
    const { command_id: id } = (await server.ask('POST', `${path}/commands`, { json })).json
    await server.ask('POST', `${path}/commands/${id}/stdin`, { json: { data: 'theirs' } })
    await page.getByRole('button', { name: /^Attach to/ }).click()
    await shows(page, 'theirs')
    await page.keyboard.type('mine')
    expect(await page.getByRole('button', { name: /Open a terminal|End|Paste|Take over/ }).count()).toBe(0)
    expect(await written(server, path, id)).toBe('theirs')
    expect((await newest(server, path)).pty).toEqual({ cols: 40, rows: 10 })
    const large = { ...json, pty: { cols: 10_000, rows: 10_000 } }
    const { command_id: other } = (await server.ask('POST', `${path}/commands`, { json: large })).json
    await server.ask('POST', `${path}/commands/${other}/stdin`, { json: { data: 'large' } })
    await page.getByRole('button', { name: `Attach to ${other}` }).click()
    await shows(page, 'large')
    expect(await page.locator('.xterm-rows > div').count()).toBe(500)
  })

  test('come back after a restart of the service, with every key once', async () => {
    const { server, page, path } = await openTerminals()
    await openCat(page)
    const { command_id: id } = await newest(server, path)
    const settings = { HOLT_STATE_DIR: server.stateDir, HOLT_PORT: new URL(server.server.url).port, HOLT_POOL_MAX: '0' }
    const config = { ...parseConfig(settings), ...(await testDatabase(server.stateDir)) }
    const text = Array.from({ length: 150 }, (_, index) => `${index},`).join('')
    const typing = page.keyboard.type(text, { delay: 8 })
    await shows(page, '20,')
    await server.close()
    await page
      .getByText(/^Reconnecting/)
      .first()
      .waitFor()
    const again = await server.restart({ config })
    await typing
    await expect.poll(() => written(again, path, id), { timeout: 60_000 }).toBe(text)
    await expect.poll(async () => (await screenText(page)()).replaceAll('\n', '')).toContain('148,149,')
  })
})

describe('hostile output of a terminal', () => {
  test('gets the answers of fixed form only, few of them, and none when it is replayed', async () => {
    const { server, visit, page, path } = await openTerminals()
    await openCat(page)
    await page.keyboard.press('x')
    await shows(page, 'x')
    const { command_id: id } = await newest(server, path)
    const queries = [
      '\u001b]2;rm -rf ~\u0007\u001b[21t\u001b[20t\u001b[18t\u001b[14t\u001b[16t',
      '\u001b]4;1;?\u0007\u001b]10;?\u0007\u001b]11;?\u0007\u001b]12;?\u0007\u001b]52;c;?\u0007',
      '\u001bP$qm\u001b\\\u001b[?1004h\u001b[?1004l',
      '\u001b[c\u001b[6n\u001b[?2004$p\u001b[5n',
    ].join('')
    await output(server, path, queries)
    await expect.poll(async () => (await written(server, path, id)).endsWith('\u001b[0n')).toBe(true)
    const answers = (await written(server, path, id)).replace('x', '').replace(queries, '')
    expect(answers).toBe('\u001bP1$r0m\u001b\\\u001b[I\u001b[?1;2c\u001b[1;2R\u001b[?2004;2$y\u001b[0n')
    await output(server, path, `${'\u001b[5n'.repeat(5_000)}flooded`)
    await shows(page, 'flooded')
    await page.keyboard.press('z')
    await expect.poll(async () => (await written(server, path, id)).endsWith('z')).toBe(true)
    const flooded = await written(server, path, id)
    expect(flooded.split('\u001b[0n').length).toBeLessThan(500)
    await page.reload()
    await shows(page, 'flooded')
    await page.keyboard.press('y')
    await expect.poll(() => written(server, path, id)).toBe(`${flooded}y`)
    expect(visit.complaints).toEqual([])
  })

  test('cannot write to the clipboard', async () => {
    const { server, visit, page, path } = await openTerminals()
    await visit.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await openCat(page)
    await page.evaluate(`navigator.clipboard.writeText('mine')`)
    await output(server, path, `\u001b]52;c;${Buffer.from('theirs').toString('base64')}\u0007shown`)
    await shows(page, /^shown$/)
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('mine')
  })

  test('links to pages of the Web only, and a person sees where before one opens', async () => {
    const { server, visit, page, path } = await openTerminals()
    await openCat(page)
    const link = (uri: string, text: string) => `\u001b]8;;${uri}\u0007${text}\u001b]8;;\u0007\r\n`
    await output(
      server,
      path,
      link('javascript:alert(document.domain)', 'a-script') +
        link('data:text/html,<script>alert(1)</script>', 'a-document') +
        link('https://good.example@evil.example/\u202e', 'https://good.example'),
    )
    await shows(page, 'https://good.example')
    const press = async (row: number) => {
      const box = await page.locator('.xterm-rows > div').nth(row).boundingBox()
      if (box === null) throw new Error('the row is not shown')
      await page.mouse.move(box.x + 20, box.y + box.height / 2 + 1)
      await page.mouse.move(box.x + 24, box.y + box.height / 2)
      await page.mouse.down()
      await page.mouse.up()
    }
    for (const row of [0, 1]) await press(row)
    await press(2)
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('evil.example', { exact: true }).waitFor()
    const opens = dialog.getByRole('link', { name: 'Open it' })
    expect(await opens.getAttribute('href')).toMatch(/^https:\/\/good\.example@evil\.example\//)
    expect(await opens.getAttribute('rel')).toBe('noopener noreferrer')
    await dialog.getByRole('button', { name: 'Stay here' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect([visit.context.pages().length, page.url()]).toEqual([1, `${server.server.url}/console${consolePath(path)}`])
    expect(visit.complaints).toEqual([])
  })

  test('is text in titles and on the screen, in colors that cannot hide it', async () => {
    const { server, visit, page, path } = await openTerminals()
    await openCat(page)
    const markup = '<img src=x onerror=alert(1)>'
    await output(server, path, `\u001b]2;${markup}\u202e${'long'.repeat(100)}\u0007${markup}\r\n`)
    await output(server, path, '\u001b]11;#000000\u0007\u001b[38;2;20;24;26m\u001b[48;2;20;24;26mhidden\u001b[0m')
    await shows(page, /hidden/)
    await shows(page, markup)
    const title = (await page.locator('.shell-title').textContent()) ?? ''
    expect([title.startsWith(markup), title.includes('\u202e'), title.length]).toEqual([true, false, 101])
    expect(await page.locator('main img').count()).toBe(0)
    const span = `[...document.querySelectorAll('.xterm-rows span')].find((each) => each.textContent === 'hidden')`
    const color = (name: string) => page.evaluate(`getComputedStyle(${span}).${name}`)
    expect(await color('backgroundColor')).toBe('rgb(20, 24, 26)')
    expect(await color('color')).not.toBe('rgb(20, 24, 26)')
    expect(visit.complaints).toEqual([])
  })

  test('in huge lines and floods leaves the page usable', async () => {
    const { visit, page } = await openTerminals()
    await openCat(page)
    await page.getByLabel('Shell', { exact: true }).fill('fill 12000000')
    await page.getByRole('button', { name: 'Open a terminal' }).click()
    await page.getByRole('tab', { name: /^Terminal 2/ }).waitFor()
    await page.getByLabel('Name', { exact: true }).fill('still usable')
    await page.getByRole('tab', { name: /^Terminal 1/ }).click()
    await page.locator('.screen').click()
    await page.keyboard.type('typed meanwhile')
    await shows(page, 'typed meanwhile')
    await page.getByRole('tab', { name: /^still usable/ }).click()
    await page.getByText('The shell has ended with exit code 0.').waitFor()
    expect(visit.complaints).toEqual([])
  })
})

function consolePath(path: string): string {
  return `/runtimes/${path.split('/').at(-1)}/terminal`
}

test.each(['light', 'dark'] as const)('the tab of terminals is accessible in the %s theme', async (colorScheme) => {
  const { visit, page } = await openTerminals({ colorScheme, viewport: { width: 360, height: 740 } })
  await page.getByText('No terminal is open').waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  await openCat(page)
  await page.keyboard.type('hello')
  await shows(page, 'hello')
  await page.getByLabel('Output for screen readers').check()
  await page.locator('.xterm-accessibility').getByText('hello').waitFor()
  // A phone has no such key.
  await page.getByRole('button', { name: 'Ctrl D' }).waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  const background = () =>
    page.evaluate(`getComputedStyle(document.querySelector('.xterm-scrollable-element')).backgroundColor`)
  expect(await background()).toBe(colorScheme === 'dark' ? 'rgb(20, 24, 26)' : 'rgb(255, 255, 255)')
  // From the theme of the machine to the light and the dark one.
  for (const _ of ['light', 'dark']) await page.getByRole('button', { name: /^Theme/ }).click()
  await expect.poll(background).toBe('rgb(20, 24, 26)')
  expect(visit.complaints).toEqual([])
})
