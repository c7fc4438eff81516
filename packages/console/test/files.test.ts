import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Download } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { changeAnswers } from '../../server/test/support/changed-answers.ts'
import { faultsOf } from './support/browser.ts'
import { bytesOf, openFiles, row, rowsOf, select, text, writeElsewhere } from './support/files-page.ts'

test('a directory is found in, sorted, followed live, and left by a typed path', async () => {
  const opened = await openFiles()
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
  const opened = await openFiles()
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
  const opened = await openFiles()
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
  const opened = await openFiles()
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

test('a key that may only read sees files, and no actions', async () => {
  const opened = await openFiles({}, ['runtime:read'])
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
  const opened = await openFiles({ colorScheme, viewport: { width: 360, height: 740 } })
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
