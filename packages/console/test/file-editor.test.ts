import { describe, expect, test } from 'vitest'
import { changeAnswers } from '../../server/test/support/changed-answers.ts'
import { openFiles, row, select, text, writeElsewhere } from './support/files-page.ts'

describe('the editor', () => {
  test('shows colours, saves bytes as they were, and warns before changes are lost', async () => {
    const opened = await openFiles()
    const { page, put, content } = opened
    put('/workspace/main.py', 'def first():\r\n    return "grüße"\r\n')
    await opened.show({ path: '/workspace', open: '/workspace/main.py' })
    await text(page).getByText('def', { exact: true }).waitFor()
    const colours = await text(page)
      .locator('span')
      .evaluateAll((spans): string[] => spans.map((span) => Reflect.get(globalThis, 'getComputedStyle')(span).color))
    expect(new Set(colours).size).toBeGreaterThan(2)
    await text(page).press('Control+Home')
    await page.keyboard.type('import os\n')
    await page.getByText('● Not saved').waitFor()
    await page.keyboard.press('Control+s')
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(content('/workspace/main.py')).toBe('import os\r\ndef first():\r\n    return "grüße"\r\n')
    await page.keyboard.type('x')
    await page.getByRole('link', { name: 'workspace' }).click()
    await page.getByRole('alertdialog').getByText('Leave without saving?').waitFor()
    await page.getByRole('button', { name: 'Stay' }).click()
    await text(page).press('Control+f')
    await page.getByRole('textbox', { name: 'Find' }).pressSequentially('first')
    await page.locator('.cm-searchMatch').waitFor()
    await page.keyboard.press('Escape')
    const asked = page.waitForEvent('dialog')
    void page.reload().catch(() => {})
    const dialog = await asked
    expect(dialog.type()).toBe('beforeunload')
    await dialog.dismiss()
    await page.getByText('● Not saved').waitFor()
    await page.getByRole('link', { name: 'workspace' }).click()
    await page.getByRole('button', { name: 'Leave' }).click()
    await row(page, 'main.py').waitFor()
    expect(content('/workspace/main.py')).not.toContain('x')
    expect(opened.complaints).toEqual([])
  })

  test('never overwrites what somebody else has written', async () => {
    const opened = await openFiles()
    const { page, content, server, id } = opened
    await writeElsewhere(opened, '/workspace/a.txt', 'one\ntwo\n')
    await opened.show({ path: '/workspace', open: '/workspace/a.txt' })
    await text(page).getByText('two').waitFor()
    // Without changes here, the editor follows.
    await writeElsewhere(opened, '/workspace/a.txt', 'one\n2\n')
    await text(page).getByText('2', { exact: true }).waitFor()
    await text(page).press('Control+Home')
    await page.keyboard.type('mine ')
    await writeElsewhere(opened, '/workspace/a.txt', 'one\ntheirs\n')
    await page.getByText('The file has changed in the runtime since').waitFor()
    await page.keyboard.press('Control+s')
    const conflict = page.getByRole('alertdialog')
    await conflict.getByText('Nothing was overwritten.').waitFor()
    await conflict.getByRole('button', { name: 'Show the difference' }).click()
    await conflict.getByText('- theirs').waitFor()
    await conflict.getByText('+ mine one').waitFor()
    expect(content('/workspace/a.txt')).toBe('one\ntheirs\n')
    // Another one writes while the question is open.
    await writeElsewhere(opened, '/workspace/a.txt', 'one\nthird\n')
    await conflict.getByRole('button', { name: 'Overwrite' }).click()
    await conflict.getByText('- third').waitFor()
    expect(content('/workspace/a.txt')).toBe('one\nthird\n')
    await conflict.getByRole('button', { name: 'Overwrite' }).click()
    await conflict.waitFor({ state: 'detached' })
    expect(content('/workspace/a.txt')).toBe('mine one\n2\n')
    await page.getByText('Saved', { exact: true }).waitFor()
    await text(page).press('Control+End')
    await page.keyboard.type('more')
    await writeElsewhere(opened, '/workspace/a.txt', 'fourth\n')
    await page.keyboard.press('Control+s')
    await conflict.getByRole('button', { name: 'Reload' }).click()
    await text(page).getByText('fourth').waitFor()
    await page.getByText('● Not saved').waitFor({ state: 'detached' })
    await text(page).press('Control+End')
    await page.keyboard.type('kept')
    await server.ask('POST', `/v1/agents/runtime/${id}/files/remove`, { json: { path: '/workspace/a.txt' } })
    await page.keyboard.press('Control+s')
    await conflict.getByText('The file is gone').waitFor()
    await conflict.getByRole('button', { name: 'Write it again' }).click()
    await conflict.waitFor({ state: 'detached' })
    expect(content('/workspace/a.txt')).toBe('fourth\nkept')
    expect(opened.complaints).toEqual([])
  })

  test('keeps the text of a runtime that is paused, which only a person resumes', async () => {
    const opened = await openFiles()
    const { page, put, server, id } = opened
    put('/workspace/a.txt', 'one')
    await opened.show({ path: '/workspace', open: '/workspace/a.txt' })
    await text(page).press('Control+Home')
    await page.keyboard.type('mine ')
    const see = (visibility: string) =>
      page.evaluate(`{
        Object.defineProperty(document, 'visibilityState', { value: '${visibility}', configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }`)
    // The runtime is paused while nobody sees the page.
    await see('hidden')
    await server.ask('POST', `/v1/agents/runtime/${id}/pause`, { json: {} })
    await see('visible')
    await page.getByText('The runtime is paused').waitFor()
    await text(page).getByText('mine one').waitFor()
    expect((await server.ask('GET', `/v1/agents/runtime/${id}`)).json.state).toBe('paused')
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('The runtime is paused').waitFor({ state: 'detached' })
    await text(page).press('Control+s')
    await page.getByText('Saved', { exact: true }).waitFor()
    const url = `/v1/agents/runtime/${id}/files/content?path=/workspace/a.txt`
    expect((await server.ask('GET', url)).text).toBe('mine one')
  })

  test('does not open what it could destroy, or what is too large, and says so', async () => {
    const opened = await openFiles()
    const { page, put, content } = opened
    put('/workspace/binary', new Uint8Array([1, 0, 2]))
    put('/workspace/latin1.txt', Buffer.from('caf\xe9 latin', 'latin1'))
    put('/workspace/log', `the beginning\n${'line\n'.repeat(300_000)}`)
    put('/workspace/one-line', 'x'.repeat(10 * 2 ** 20))
    put('/workspace/long-line.js', `"${'y'.repeat(2 ** 20 - 10)}"`)
    const show = (name: string) => opened.show({ path: '/workspace', open: `/workspace/${name}` })
    await show('binary')
    await page.getByText('The file is not text').waitFor()
    await show('latin1.txt')
    await page.getByText('The text is not UTF-8').first().waitFor()
    await text(page).getByText('café latin').waitFor()
    expect(await page.getByRole('button', { name: 'Save', exact: true }).count()).toBe(0)
    await text(page).click()
    await page.keyboard.type('x')
    expect(await text(page).textContent()).toBe('café latin')
    await show('log')
    await page.getByText('The file has more than 1 MiB').waitFor()
    await text(page).getByText('the beginning').waitFor()
    await show('one-line')
    await page.getByText('The file has more than 1 MiB').waitFor()
    await page.getByRole('link', { name: 'workspace' }).click()
    await row(page, 'one-line').getByText('10 MiB').waitFor()
    // A line of 1 MiB is opened, and can be changed.
    await show('long-line.js')
    await text(page).press('Control+Home')
    await page.keyboard.type('z')
    await page.keyboard.press('Control+s')
    await page.getByText('Saved', { exact: true }).waitFor()
    expect(content('/workspace/long-line.js')?.slice(0, 4)).toBe('z"yy')
    expect(opened.complaints).toEqual([])
  })
})

describe('a hostile runtime', () => {
  test('has SVG with script, which is an image and runs nothing, and code that seems other code', async () => {
    const opened = await openFiles()
    const { page, put, context } = opened
    const script = 'document.title = "run"; parent.document.title = "run"; fetch("/v1/agents/whoami")'
    put(
      '/workspace/a.svg',
      `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload='${script}'><script>${script}</script></svg>`,
    )
    put('/workspace/a.png', 'no image')
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await opened.show({ path: '/workspace', open: '/workspace/a.svg' })
    const image = page.getByRole('img', { name: 'a.svg' })
    await image.waitFor()
    await expect.poll(() => image.evaluate((element): number => Reflect.get(element, 'naturalWidth'))).toBe(9)
    const source = (await image.getAttribute('src')) ?? ''
    expect(source).toMatch(/^data:image\/svg\+xml;base64,/)
    expect(await page.title()).not.toBe('run')
    // As a page of its own it has an origin with nothing of the console.
    const other = await context.newPage()
    await other.goto(source)
    expect(await other.evaluate('origin')).toBe('null')
    expect(asked.filter((url) => url.endsWith('/whoami'))).toEqual([])
    await page.getByRole('button', { name: 'Show as text' }).click()
    await text(page).getByText('onload').waitFor()
    await opened.show({ path: '/workspace', open: '/workspace/a.png' })
    await page.getByText('The browser cannot show this image').waitFor()
    put('/workspace/order.py', 'x = "\u202b\u2068\u{e0041}" # \u202e\n')
    await opened.show({ path: '/workspace', open: '/workspace/order.py' })
    await expect.poll(() => page.locator('.cm-specialChar').count()).toBe(4)
  })

  test('has names, which cannot be HTML, hide something, or lead elsewhere', async () => {
    const opened = await openFiles()
    const { page, put, server, id, content } = opened
    const names = {
      html: '<img src=x onerror=alert(1)>',
      bidi: 'gnp.\u202eexe',
      control: 'bell\u0007\u001b[2J',
      newline: 'two\nlines',
      option: '-rf',
      prototype: '__proto__',
    }
    for (const name of Object.values(names)) put(`/workspace/${name}`, 'x')
    put('/workspace/odd', 'x')
    put('/workspace/loop', { to: 'loop' })
    put('/workspace/gone', { to: '<b>nowhere</b>' })
    changeAnswers(server.engine.guest(id), /^\/v1\/files\/list/, (told) => ({
      ...told,
      entries: (told.entries as { path: string }[]).map((entry) =>
        entry.path === '/workspace/odd'
          ? {
              ...entry,
              path: '/workspace/\ufffd',
              name: '\ufffd',
              path_base64: Buffer.from('/workspace/\xff', 'latin1').toString('base64'),
            }
          : entry,
      ),
    }))
    await opened.show()
    await row(page, names.html).waitFor()
    await row(page, 'gnp.\\u202eexe').waitFor()
    await row(page, 'bell\\u0007\\u001b[2J').waitFor()
    await row(page, 'two\\u000alines').waitFor()
    await row(page, '__proto__').waitFor()
    expect(await page.locator('[role=grid] img').count()).toBe(0)
    await row(page, '\\xff').getByText('not UTF-8').waitFor()
    expect(await row(page, '\\xff').getByRole('link').count()).toBe(0)
    await select(page, '\\xff')
    expect(await page.getByRole('button', { name: 'Delete…' }).isDisabled()).toBe(true)
    await row(page, '<b>nowhere</b>').waitFor()
    await row(page, names.html).getByRole('link').click()
    await page.getByRole('navigation', { name: 'Path' }).getByText(names.html).waitFor()
    await text(page).waitFor()
    await opened.show()
    await row(page, 'loop').getByRole('link').click()
    await page.getByRole('alert').getByText('symbolic links').waitFor()
    await opened.show({ path: '/workspace/loop' })
    await page.getByRole('alert').getByText('symbolic links').waitFor()
    await opened.show({ path: '/workspace/../etc' })
    await page.getByRole('alert').getByText('must not contain').waitFor()
    await opened.show()
    await select(page, '-rf')
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await row(page, '-rf').waitFor({ state: 'detached' })
    expect(content(`/workspace/${names.html}`)).toBe('x')
    expect(opened.complaints).toEqual([])
  })

  test('has a directory of 20,000 names, which is found in and scrolled', async () => {
    const opened = await openFiles()
    const { page, put } = opened
    for (let at = 0; at < 20_000; at += 1) put(`/workspace/file-${String(at).padStart(5, '0')}`, '')
    await opened.show()
    await page.getByText('20000 here.').waitFor()
    expect(await page.getByRole('row').count()).toBeLessThan(200)
    await page.getByRole('grid', { name: 'Files' }).evaluate((grid) => Reflect.set(grid, 'scrollTop', 1e7))
    await row(page, 'file-19999').waitFor()
    await page.getByLabel('Find a file').fill('12345')
    await page.getByText('1 of 20000 shown.').waitFor()
    await row(page, 'file-12345').waitFor()
    expect(opened.complaints).toEqual([])
  })
})
