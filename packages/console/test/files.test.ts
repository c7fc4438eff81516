import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Download, Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { changeAnswers } from '../../server/test/support/changed-answers.ts'
import { startTestServer, type TestServer } from '../../server/test/support/start-test-server.ts'
import { faultsOf, openByLink, openWindow, type Visit } from './support/browser.ts'

interface Opened extends Visit {
  readonly server: TestServer
  readonly id: string
  /** Puts a file, a directory or a symlink into the runtime, as a program inside does. */
  put(path: string, content: string | Uint8Array | { readonly to: string } | null): void
  /** Returns the content of a file in the runtime; null if there is none. */
  content(path: string): string | null
  /** Opens the tab with a query. */
  show(search?: Readonly<Record<string, string>>): Promise<void>
}

/** Starts a service with a runtime, and signs a browser in. */
async function open(options: Parameters<typeof openWindow>[0] = {}, scopes?: readonly string[]): Promise<Opened> {
  const server = await startTestServer()
  const id = await server.makeRuntime({ name: 'mine' })
  const nodes = server.engine.guest(id)?.files.nodes
  if (nodes === undefined) throw new Error('there is no guest')
  const visit = await openWindow(options)
  const key = scopes === undefined ? undefined : (await server.makeKey(...scopes)).key
  await openByLink(server, visit, key)
  await visit.page.getByRole('link', { name: 'mine' }).waitFor()
  const show: Opened['show'] = async (search = {}) => {
    const query = new URLSearchParams(search as Record<string, string>)
    await visit.page.goto(`${server.server.url}/console/runtimes/${id}/files?${query}`)
  }
  return {
    ...visit,
    server,
    id,
    put: (path, content) => {
      nodes.makeParents(path)
      if (content === null) nodes.set(path, { type: 'directory', mode: '0755' })
      else if (typeof content === 'object' && 'to' in content)
        nodes.set(path, { type: 'symlink', mode: '0777', target: content.to })
      else nodes.set(path, { type: 'file', mode: '0644', data: Buffer.from(content) })
    },
    content: (path) => {
      const node = nodes.get(path)
      return node?.type === 'file' ? node.data.toString() : null
    },
    show,
  }
}

const rowsOf = (page: Page) => page.getByRole('grid', { name: 'Files' }).getByRole('rowheader')
const row = (page: Page, name: string) => page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })
const select = (page: Page, name: string) => row(page, name).locator('label').click()
const text = (page: Page) => page.locator('.cm-content')

/** Writes a file as another client does, with an event. */
async function writeElsewhere({ server, id }: Opened, path: string, body: string): Promise<void> {
  const url = `/v1/agents/runtime/${id}/files/content?path=${encodeURIComponent(path)}`
  const { status } = await server.ask('PUT', url, { body })
  if (status >= 300) throw new Error(`${path}: ${status}`)
}

async function bytesOf(download: Download): Promise<Buffer> {
  return readFile(await download.path())
}

test('a directory is found in, sorted, followed live, and left by a typed path', async () => {
  const opened = await open()
  const { page, put } = opened
  put('/workspace/src/main.py', 'print(1)\n')
  put('/workspace/b10.txt', 'x'.repeat(2048))
  put('/workspace/b9.txt', 'y')
  put('/workspace/.hidden', '')
  put('/workspace/link', { to: 'src' })
  await page.getByRole('link', { name: 'mine' }).click()
  await page.getByRole('link', { name: 'Files' }).click()
  await page.getByText('5 of 5').or(page.getByText('4 of 5 shown.')).waitFor()
  expect(await rowsOf(page).allTextContents()).toEqual(['src/', 'b9.txt', 'b10.txt', 'link → src'])
  await row(page, 'b10.txt').getByText('2 KiB').waitFor()
  await page.getByRole('columnheader', { name: 'Size' }).click()
  await page.getByRole('columnheader', { name: 'Size' }).click()
  expect((await rowsOf(page).allTextContents())[1]).toBe('b10.txt')
  await page.getByLabel('Find a file').fill('B9')
  await page.getByText('1 of 5 shown.').waitFor()
  await page.getByLabel('Find a file').fill('')
  await page.getByLabel('Hidden files').check()
  await row(page, '.hidden').waitFor()
  await page.reload()
  await row(page, '.hidden').waitFor()
  // Others change the directory.
  await page.getByText('Changes appear by themselves.').waitFor()
  await writeElsewhere(opened, '/workspace/later.txt', 'later')
  await row(page, 'later.txt').waitFor()
  const remove = `/v1/agents/runtime/${opened.id}/files/remove`
  await opened.server.ask('POST', remove, { json: { path: '/workspace/later.txt' } })
  await row(page, 'later.txt').waitFor({ state: 'detached' })
  await row(page, 'src/').getByRole('link').click()
  await row(page, 'main.py').waitFor()
  await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'workspace' }).click()
  await row(page, 'b9.txt').waitFor()
  await page.getByRole('button', { name: 'Type a path' }).click()
  await page.getByRole('textbox', { name: 'Path' }).fill('/nowhere')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('/nowhere').waitFor()
  await page.getByRole('textbox', { name: 'Path' }).fill('src/../src/./main.py')
  await page.keyboard.press('Enter')
  await text(page).getByText('print').waitFor()
  expect(new URL(page.url()).searchParams.get('open')).toBe('/workspace/src/main.py')
  await page.reload()
  await text(page).getByText('print').waitFor()
  // A symlink to a directory is opened as a file, and shown as what it leads to.
  await opened.show({ path: '/workspace', open: '/workspace/link' })
  await row(page, 'main.py').waitFor()
  expect(opened.complaints).toEqual([])
})

test('files are made, renamed, copied to another place and deleted, many at once', async () => {
  const opened = await open()
  const { page, put, content } = opened
  await opened.show()
  await page.getByText('The directory is empty').waitFor()
  await page.getByRole('button', { name: 'New directory' }).click()
  await page.getByLabel('Name').fill('../out')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('A name has no slash').first().waitFor()
  await page.getByLabel('Name').fill('sub')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await row(page, 'sub/').waitFor()
  await page.getByRole('button', { name: 'New file' }).click()
  await page.getByLabel('Name').fill('-rf')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await text(page).waitFor()
  expect(content('/workspace/-rf')).toBe('')
  await page.getByRole('link', { name: 'workspace' }).click()
  await select(page, '-rf')
  await page.getByRole('button', { name: 'Move or rename…' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('a.txt')
  await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click()
  await row(page, 'a.txt').waitFor()
  expect(content('/workspace/-rf')).toBeNull()
  put('/workspace/sub/a.txt', 'the old one')
  await select(page, 'a.txt')
  await page.getByRole('button', { name: 'Copy…' }).click()
  await page.getByRole('dialog').getByLabel('Directory').fill('sub')
  await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('alert').getByText('exists').waitFor()
  await page.getByRole('dialog').getByLabel('Replace what is there').check()
  await page.getByRole('dialog').getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(content('/workspace/sub/a.txt')).toBe('')
  await select(page, 'sub/')
  await select(page, 'a.txt')
  await page.getByText('2 selected').waitFor()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await page.getByText('Directories are deleted with everything in them.').waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('The directory is empty').waitFor()
  expect(content('/workspace/sub/a.txt')).toBeNull()
  expect(opened.complaints).toEqual([])
})

test('uploads ask before they replace, have directories in them, and can be cancelled', async () => {
  const opened = await open()
  const { page, put, content } = opened
  put('/workspace/one.txt', 'theirs')
  const here = mkdtempSync(join(tmpdir(), 'holt-upload-'))
  onTestFinished(() => rmSync(here, { recursive: true }))
  mkdirSync(join(here, 'tree/deep'), { recursive: true })
  writeFileSync(join(here, 'tree/deep/x'), 'deep')
  writeFileSync(join(here, 'one.txt'), 'mine')
  writeFileSync(join(here, 'two.txt'), 'new')
  await opened.show()
  await row(page, 'one.txt').waitFor()
  const [files, directory] = [page.locator('input[type=file]').nth(0), page.locator('input[type=file]').nth(1)]
  await files.setInputFiles([join(here, 'one.txt'), join(here, 'two.txt')])
  const question = page.getByRole('alertdialog')
  await question.getByText('/workspace/one.txt').waitFor()
  expect([content('/workspace/one.txt'), content('/workspace/two.txt')]).toEqual(['theirs', 'new'])
  await question.getByRole('button', { name: 'Keep' }).click()
  await page.getByText('1 of 2 files uploaded').waitFor()
  await page.getByRole('button', { name: 'Dismiss' }).click()
  await files.setInputFiles([join(here, 'one.txt')])
  await question.getByRole('button', { name: 'Replace' }).click()
  await page.getByText('1 of 1 files uploaded').waitFor()
  expect(content('/workspace/one.txt')).toBe('mine')
  await directory.setInputFiles(join(here, 'tree'))
  await row(page, 'tree/').waitFor()
  await expect.poll(() => content('/workspace/tree/deep/x')).toBe('deep')
  await page.evaluate(`{
    const transfer = new DataTransfer()
    transfer.items.add(new File(['dropped'], 'dropped.txt'))
    const event = { bubbles: true, cancelable: true, dataTransfer: transfer }
    document.querySelector('.drop-place').dispatchEvent(new DragEvent('dragover', event))
    document.querySelector('.drop-place').dispatchEvent(new DragEvent('drop', event))
  }`)
  await row(page, 'dropped.txt').waitFor()
  expect(content('/workspace/dropped.txt')).toBe('dropped')
  // The second part of a large file waits until the upload is cancelled.
  await page.route(/offset=4194304/, () => {})
  await files.setInputFiles([{ name: 'large', mimeType: 'text/plain', buffer: Buffer.alloc(9 * 2 ** 20) }])
  await page.getByText('4 MiB of 9 MiB').waitFor()
  await page.getByRole('button', { name: 'Cancel the upload' }).click()
  await page.getByRole('button', { name: 'Dismiss' }).waitFor()
  expect(content('/workspace/large')).toBeNull()
  await page.unroute(/offset=4194304/)
  await files.setInputFiles([{ name: 'large', mimeType: 'text/plain', buffer: Buffer.alloc(9 * 2 ** 20) }])
  await row(page, 'large').getByText('9 MiB').waitFor()
  expect(opened.complaints).toEqual([])
})

test('downloads are files, archives of directories, and streams to a file if they are large', async () => {
  const opened = await open()
  const { page, put, id, server } = opened
  put('/workspace/a.txt', 'the content')
  put('/workspace/tree/b.txt', 'in the tree')
  await page.addInitScript(`window.showSaveFilePicker = async ({ suggestedName }) =>
    (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true })`)
  await opened.show()
  await select(page, 'a.txt')
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ])
  expect([file.suggestedFilename(), (await bytesOf(file)).toString()]).toEqual(['a.txt', 'the content'])
  await select(page, 'a.txt')
  await select(page, 'tree/')
  const [tree] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ])
  expect(tree.suggestedFilename()).toBe('tree.tar.gz')
  expect(gunzipSync(await bytesOf(tree)).toString()).toContain('in the tree')
  const large = { size_bytes: 2 ** 30 }
  changeAnswers(server.engine.guest(id), /^\/v1\/files\/list/, (told) => ({
    ...told,
    entries: (told.entries as object[]).map((entry) => ({ ...entry, ...large })),
  }))
  await page.reload()
  await select(page, 'a.txt')
  await page.getByRole('button', { name: 'Download' }).click()
  await page.getByText(`holt cp ${id}:/workspace/a.txt ./a.txt`).waitFor()
  await page.getByRole('button', { name: 'Save to a file…' }).click()
  await expect
    .poll(() =>
      page.evaluate(`navigator.storage.getDirectory()
        .then((dir) => dir.getFileHandle('a.txt')).then((handle) => handle.getFile()).then((file) => file.text())`),
    )
    .toBe('the content')
  expect(opened.complaints).toEqual([])
})

describe('the editor', () => {
  test('shows colours, saves bytes as they were, and warns before changes are lost', async () => {
    const opened = await open()
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
    const opened = await open()
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
    const opened = await open()
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
    const opened = await open()
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
  test('has SVG with script, which is an image and runs nothing', async () => {
    const opened = await open()
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
    expect(source).toMatch(/^blob:/)
    expect(await page.title()).not.toBe('run')
    // As a page of its own it has the policy of the console, which allows no script.
    const [other] = await Promise.all([context.waitForEvent('page'), page.evaluate(`open(${JSON.stringify(source)})`)])
    await other.waitForLoadState()
    expect(await other.title()).not.toBe('run')
    expect(asked.filter((url) => url.endsWith('/whoami'))).toEqual([])
    await page.getByRole('button', { name: 'Show as text' }).click()
    await text(page).getByText('onload').waitFor()
    await opened.show({ path: '/workspace', open: '/workspace/a.png' })
    await page.getByText('The browser cannot show this image').waitFor()
  })

  test('has names, which cannot be HTML, hide something, or lead elsewhere', async () => {
    const opened = await open()
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
    const opened = await open()
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

test('a key that may only read sees files, and no actions', async () => {
  const opened = await open({}, ['runtime:read'])
  const { page, put } = opened
  put('/workspace/a.txt', 'one')
  await opened.show()
  await row(page, 'a.txt').waitFor()
  await page.getByRole('button', { name: 'Download' }).waitFor()
  expect(await page.getByRole('button', { name: /New|Upload|Delete|Move|Copy/ }).count()).toBe(0)
  await row(page, 'a.txt').getByRole('link').click()
  await page.getByText('Your key may only read it.').waitFor()
  await text(page).click()
  await page.keyboard.type('x')
  expect(await text(page).textContent()).toBe('one')
  expect(opened.complaints).toEqual([])
})

test.each(['light', 'dark'] as const)('files are accessible in the %s theme, also on a phone', async (colorScheme) => {
  const opened = await open({ colorScheme, viewport: { width: 360, height: 740 } })
  const { page, put } = opened
  const width = () => page.evaluate('document.documentElement.scrollWidth')
  await opened.show()
  await page.getByText('The directory is empty').waitFor()
  expect([await faultsOf(page, colorScheme), await width()]).toEqual([[], 360])
  put('/workspace/main.py', '# a comment\nclass A(B):\n    def f(self, x=1):\n        return "text" + str(x)\n')
  put(`/workspace/${'a-long-name'.repeat(10)}`, '')
  await page.reload()
  await row(page, 'main.py').waitFor()
  expect([await faultsOf(page, colorScheme), await width()]).toEqual([[], 360])
  await select(page, 'main.py')
  await page.getByRole('button', { name: 'Move or rename…' }).click()
  await page.getByRole('dialog').waitFor()
  expect([await faultsOf(page, colorScheme), await width()]).toEqual([[], 360])
  await page.keyboard.press('Escape')
  await row(page, 'main.py').getByRole('link').click()
  await text(page).getByText('class', { exact: true }).waitFor()
  await page.keyboard.press('Tab')
  expect([await faultsOf(page, colorScheme), await width()]).toEqual([[], 360])
  await text(page).press('Control+Home')
  await page.keyboard.type('changed ')
  await page.keyboard.press('Control+f')
  await page.getByRole('textbox', { name: 'Find' }).fill('text')
  await writeElsewhere(opened, '/workspace/main.py', 'others')
  await text(page).press('Control+s')
  await page.getByRole('button', { name: 'Show the difference' }).click()
  await page.getByText('- others').waitFor()
  expect([await faultsOf(page, colorScheme), await width()]).toEqual([[], 360])
  expect(opened.complaints).toEqual([])
})
