import { readFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type CodeServer, giveBridge, startCodeServer } from '../../server/test/support/fake-bridge.ts'
import { startTestServer } from '../../server/test/support/start-test-server.ts'
import { openByLink, openWindow, type Visit } from './support/browser.ts'
import { faultsOf } from './support/faults-of.ts'
import { openTab } from './support/runtime-page.ts'

/** A picture of one pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** Opens the tab of code, and returns what runs code there. */
async function openCode(server: CodeServer, visit: Visit) {
  const { page } = visit
  await openTab(server, visit, server.id)
  await page.getByRole('link', { name: 'Code' }).click()
  let count = 0
  return async (code: string) => {
    await page.getByRole('textbox', { name: 'Code', exact: true }).fill(code)
    await page.keyboard.press('Control+Enter')
    count += 1
    return page.getByRole('article', { name: `Cell ${count}`, exact: true })
  }
}

describe('code', () => {
  test('keeps its variables, streams its output, and is interrupted, restarted and read again', async () => {
    const server = await startCodeServer()
    const visit = await openWindow()
    const { page } = visit
    const run = await openCode(server, visit)
    const first = await run('print hello\nwarn careful\nset x 41\nresult 42')
    for (const text of ['hello', 'careful', '42']) await first.getByText(text, { exact: true }).waitFor()
    await first.getByText('Run 1, 0.00 s').waitFor()
    await (await run('get x')).getByText('41').waitFor()
    const failed = await run('raise ValueError no such thing')
    await failed.getByText('ValueError: no such thing').first().waitFor()
    // The traceback has colours for terminals, which are not for a page.
    expect(await failed.getByLabel('Traceback').textContent()).toBe(
      'Traceback (most recent call last)\nValueError: no such thing',
    )
    const waiting = await run('print begun\nwait')
    await waiting.getByText('begun', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Interrupt' }).click()
    await waiting.getByText('It was interrupted.').waitFor()

    await page.reload()
    await page.getByRole('article', { name: 'Cell 1', exact: true }).getByText('hello', { exact: true }).waitFor()
    await page.getByRole('article', { name: 'Cell 4', exact: true }).getByText('It was interrupted.').waitFor()
    expect(server.interpreter.runs).toBe(4)

    await page.getByRole('button', { name: 'Restart…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Restart' }).click()
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    await (await run('get x')).getByText("name 'x' is not defined").first().waitFor()

    await page.getByRole('button', { name: 'New context…' }).click()
    await page.getByLabel('Language').fill('javascript')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByLabel('Context', { exact: true }).getByText('javascript:').waitFor({ state: 'attached' })
    await (await run('print other')).getByText('other', { exact: true }).waitFor()
    expect(server.interpreter.contexts.map(({ language, execution_count }) => [language, execution_count])).toEqual([
      ['python', 1],
      ['javascript', 1],
    ])
    await page.getByRole('button', { name: 'Delete the context…' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await expect.poll(() => server.interpreter.contexts.length).toBe(1)
    expect(visit.complaints).toEqual([])
  })

  test('shows the cells of one key to no other key, and a sign-out removes them', async () => {
    const server = await startCodeServer()
    const visit = await openWindow()
    const { page } = visit
    const run = await openCode(server, visit)
    await (await run('print first-secret')).getByText('first-secret', { exact: true }).first().waitFor()
    const cells = page.getByRole('article', { name: /^Cell/ })
    const kept = () => page.evaluate('Object.keys(sessionStorage).filter((key) => key.startsWith("holt.cells"))')
    await expect.poll(kept).toHaveLength(1)
    const { key } = await server.makeKey('admin')
    await openByLink(server, visit, key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
    await page.goto(`${server.server.url}/console/runtimes/${server.id}/code`)
    await page.getByRole('textbox', { name: 'Code', exact: true }).waitFor()
    expect([await cells.count(), (await page.content()).includes('first-secret')]).toEqual([0, false])
    await page.getByRole('button', { name: 'default' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await cells.getByText('first-secret').first().waitFor()
    await page.getByRole('button', { name: 'default' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Holt' }).waitFor()
    expect(await kept()).toHaveLength(0)
  })

  test('shows pictures, data and charts', async () => {
    const server = await startCodeServer()
    const visit = await openWindow()
    const run = await openCode(server, visit)
    const picture = (await run(`show image/png ${pixel}`)).getByRole('img')
    await picture.waitFor()
    await expect.poll(() => picture.evaluate((image) => Reflect.get(image, 'naturalWidth'))).toBe(1)
    expect(await picture.getAttribute('src')).toMatch(/^blob:/)
    const tree = await run('json {"rows": [1, 2], "<b>name</b>": "<i>text</i>"}')
    await tree.getByText('rows:').click()
    await tree.getByText('1:').waitFor()
    await tree.getByText('"<i>text</i>"', { exact: true }).waitFor()
    const chart = {
      title: 'Growth',
      axes: [
        {
          title: null,
          x_label: 'day',
          y_label: 'size',
          series: [{ type: 'line', label: 'a', x: [1, 2, 3], y: [10, 20, 15] }],
        },
      ],
    }
    const drawn = await run(`data application/vnd.holt.chart+json ${JSON.stringify(chart)}`)
    await drawn.locator('canvas').waitFor()
    await drawn.getByText('The points as a table').click()
    await drawn.getByRole('row', { name: 'a 2 20' }).waitFor()
    const pie = { axes: [{ series: [{ type: 'pie', labels: ['half'], fractions: [0.5] }] }] }
    await (await run(`data application/vnd.holt.chart+json ${JSON.stringify(pie)}`))
      .getByRole('row', { name: 'half' })
      .waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('saves a PDF, and shows its size in place of the document', async () => {
    const server = await startCodeServer()
    const visit = await openWindow()
    const { page, context } = visit
    const run = await openCode(server, visit)
    const written = Buffer.from('%PDF-1.4\n%\u00e2\u00e3\n<script>document.title=1</script>', 'latin1')
    const cell = await run(`show application/pdf ${written.toString('base64')}`)
    await cell.getByText(`${written.length} B`, { exact: true }).waitFor()
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      cell.getByRole('button', { name: 'Save the PDF' }).click(),
    ])
    expect(saved.suggestedFilename()).toBe('result.pdf')
    expect(await readFile(await saved.path())).toEqual(written)
    // A link or a frame could be opened in a tab, at the origin of the console.
    expect([await cell.locator('a, iframe, object, embed').count(), context.pages().length]).toEqual([0, 1])
    const text = await run('show application/pdf <script>document.title=1</script>')
    await text.getByLabel('application/pdf').getByText('<script>document.title=1</script>').waitFor()
    expect([await page.title(), visit.complaints]).toEqual([expect.stringMatching(/Holt$/), []])
  })

  test('has no tab where no interpreter answers', async () => {
    const server = await startTestServer()
    const id = await server.makeRuntime({ name: 'plain' })
    const visit = await openWindow()
    await openTab(server, visit, `${id}/code`)
    await visit.page.getByText('This template has no code interpreter').waitFor()
    expect(await visit.page.getByRole('link', { name: 'Code' }).count()).toBe(0)
    const other = await server.makeRuntime()
    giveBridge(server.engine, other)
    await visit.page.goto(`${server.server.url}/console/runtimes/${other}`)
    await visit.page.getByRole('link', { name: 'Code' }).waitFor()
  })
})

/** Listens on loopback, and counts the connections that somebody opens. */
async function startTrap(): Promise<{ readonly url: string; readonly count: () => number }> {
  const open = new Set<Socket>()
  let count = 0
  const trap = createServer((socket) => {
    count += 1
    open.add(socket)
    socket.on('error', () => {}) // A browser that gives up may reset it.
  })
  await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    trap.close()
  })
  const address = trap.address()
  if (address === null || typeof address === 'string') throw new Error('the trap has no port')
  return { url: `http://127.0.0.1:${address.port}`, count: () => count }
}

describe('results are hostile', () => {
  test('HTML runs no script, and reaches neither the net nor the console', async () => {
    const server = await startCodeServer()
    const trap = await startTrap()
    const visit = await openWindow()
    const { page, context } = visit
    const run = await openCode(server, visit)
    const html = [
      '<p id=said>quiet</p>',
      `<script>document.getElementById('said').textContent = 'ran'; parent.document.title = 'owned'; fetch('${trap.url}')</script>`,
      `<img src="${trap.url}/img" onerror="document.getElementById('said').textContent = 'ran'">`,
      `<img src="${server.server.url}/console/assets/none.svg">`,
      `<link rel=preconnect href="${trap.url}"><LINK rel=stylesheet href="${trap.url}/css">`,
      `<iframe srcdoc="&lt;link rel=preconnect href='${trap.url}'&gt;"></iframe><object data="${trap.url}/object"></object>`,
      `<meta http-equiv=refresh content="0;url=${trap.url}/refresh">`,
      `<a id=js href="javascript:parent.document.title='owned'">js</a>`,
      `<a id=popup target=_blank href="${trap.url}/popup">popup</a>`,
      `<a id=top target=_top href="${trap.url}/top">top</a>`,
      `<form action="${trap.url}/form"><button id=send>send</button></form>`,
      `<a id=out href="${trap.url}/out">out</a>`,
    ].join('')
    const cell = await run(`show text/html ${html}`)
    const frame = cell.frameLocator('iframe')
    await frame.locator('#said').getByText('quiet').waitFor()
    for (const id of ['js', 'popup', 'top', 'send', 'out']) await frame.locator(`#${id}`).click()
    await frame.locator('#said').getByText('quiet').waitFor()
    expect(page.frames().map((each) => new URL(each.url()).protocol)).toEqual(['http:', 'blob:'])
    expect(page.url()).toContain('/console/runtimes/')
    expect([await page.title(), context.pages().length]).toEqual([expect.stringMatching(/Holt$/), 1])
    // The same browser connects when a person opens the address: the first connection is this one.
    const control = await context.newPage()
    const opened = control.goto(trap.url).catch(() => {}) // The trap does not answer.
    await expect.poll(trap.count).toBe(1)
    await control.close()
    await opened
  })

  test('SVG runs no script and loads nothing, and has an origin of its own', async () => {
    const server = await startCodeServer()
    const trap = await startTrap()
    const visit = await openWindow()
    const { page } = visit
    const run = await openCode(server, visit)
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="document.title='owned'"><script>document.title='owned'</script><image href="${trap.url}/a" width="9" height="9"/><rect width="20" height="20"/></svg>`
    const picture = (await run(`show image/svg+xml ${svg}`)).getByRole('img')
    await picture.waitFor()
    await expect.poll(() => picture.evaluate((element) => Reflect.get(element, 'naturalWidth'))).toBe(20)
    expect(String(await picture.getAttribute('src'))).toMatch(/^data:image\/svg\+xml;/)
    expect([await page.title(), trap.count(), visit.complaints]).toEqual([expect.stringMatching(/Holt$/), 0, []])
  })

  test('markdown, links, other types and broken pictures are text', async () => {
    const server = await startCodeServer()
    const visit = await openWindow()
    const { page } = visit
    const run = await openCode(server, visit)
    const markdown = await run(
      `show text/markdown [a](javascript:document.title=1) ![b](data:image/png;base64,${pixel}) <img src=x>`,
    )
    await markdown.getByLabel('text/markdown').getByText('[a](javascript:document.title=1)').waitFor()
    const script = await run('show application/javascript document.title = 1')
    await script.getByLabel('application/javascript').getByText('document.title = 1').waitFor()
    await (await run('show image/png aGVsbG8='))
      .getByText('The result says that it is image/png, and is not.')
      .waitFor()
    await (await run('show image/jpeg <img onerror=x>')).getByLabel('image/jpeg').getByText('<img onerror=x>').waitFor()
    expect(
      await page.locator('main a[href^="javascript:"], main a[href^="data:"], article a, article script').count(),
    ).toBe(0)
    expect([await page.title(), visit.complaints]).toEqual([expect.stringMatching(/Holt$/), []])
  })

  test('a huge line is cut, and the page stays as wide as it is', async () => {
    const server = await startCodeServer()
    const visit = await openWindow({ viewport: { width: 360, height: 740 } })
    const { page } = visit
    const run = await openCode(server, visit)
    const cell = await run('fill 2000000')
    await cell.getByText('There was more output than is shown.').waitFor()
    await cell.getByRole('button', { name: 'Show all 1,048,576 characters' }).waitFor()
    expect((await page.content()).length).toBeLessThan(100_000)
    await (await run(`result ${'y'.repeat(100_000)}`))
      .getByRole('button', { name: 'Show all 100,000 characters' })
      .waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  })
})

test.each(['light', 'dark'] as const)('the tab is accessible in the %s theme', async (colorScheme) => {
  const server = await startCodeServer()
  const visit = await openWindow({ colorScheme, viewport: { width: 360, height: 740 } })
  const { page } = visit
  const run = await openCode(server, visit)
  await page.getByText('No code has run here').waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  await run('print out\nwarn careful\njson {"a": [1]}\nraise ValueError no')
  const chart = {
    title: 'T',
    axes: [{ series: [{ type: 'bar', orientation: 'vertical', label: 'n', x: ['a', 'b'], y: [1, 2] }] }],
  }
  await (await run(`data application/vnd.holt.chart+json ${JSON.stringify(chart)}`)).locator('canvas').waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
  await page.getByRole('button', { name: 'New context…' }).click()
  await page.getByLabel('Language').waitFor()
  expect(await faultsOf(page, colorScheme)).toEqual([])
  await page.keyboard.press('Escape')
  // No script runs in this frame, not even that of axe. The frame itself has a name.
  const html = await run('show text/html <table><tr><td>cell</td></tr></table>')
  await html.frameLocator('iframe[title="A result of the code, HTML"]').getByText('cell').waitFor()
  expect(visit.complaints).toEqual([])
})
