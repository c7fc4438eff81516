import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BuildError } from '@holt/builder'
import type { BuildStepState } from '@holt/protocol'
import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ended, FakeBuilder } from '../../server/test/support/fake-builder.ts'
import { startTestServer, type TestServer } from '../../server/test/support/start-test-server.ts'
import { openByLink, openWindow, type Visit } from './support/browser.ts'
import { faultsOf } from './support/faults-of.ts'
import { hostile } from './support/hostile-html.ts'

const flask = join(import.meta.dirname, '../../../examples/flask')

async function setUp(options: Parameters<typeof openWindow>[0] = {}) {
  const builder = new FakeBuilder()
  const server = await startTestServer({ builder })
  const visit = await openWindow(options)
  return { server, builder, visit, page: visit.page }
}

async function open({ server, visit }: { server: TestServer; visit: Visit }, path: string, key?: string) {
  await openByLink(server, visit, key)
  await visit.page.getByRole('heading', { name: 'Runtimes', exact: true }).waitFor()
  await visit.page.goto(`${server.server.url}/console${path}`)
}

const step = (number: number, text: string, state: BuildStepState['state']): BuildStepState => ({
  step: number,
  text,
  stage: null,
  line: number,
  state,
  duration_ms: state === 'done' ? 1500 : null,
})

/** Replaces the text of the editor as a person would. */
async function write(page: Page, dockerfile: string) {
  await page.getByLabel('Dockerfile', { exact: true }).and(page.locator('.cm-content')).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(dockerfile)
}

/** Begins a build by the API, and returns its id. */
async function begin({ ask }: TestServer, json: object): Promise<string> {
  const { json: started, text } = await ask('POST', '/v1/agents/template/build', { json: { name: 'app', ...json } })
  if (started.build_id === undefined) throw new Error(text)
  return started.build_id
}

test('a newcomer builds the Flask template, and finds the form of a runtime of it', async () => {
  const { server, builder, visit, page } = await setUp()
  const { promise: goOn, resolve: end } = Promise.withResolvers<undefined>()
  let program = ''
  builder.script = async ({ host, request }) => {
    const steps = (...states: readonly BuildStepState['state'][]) =>
      host.report.steps(states.map((state, at) => step(at + 1, `RUN part ${at + 1}`, state)))
    host.report.status('building')
    steps('done', 'running', 'waiting')
    host.report.log({ level: 'info', step: 2, message: 'Collecting flask' })
    program = execFileSync('tar', ['-xOf', request.context?.path ?? '', 'app.py']).toString()
    await goOn
    steps('done', 'cached', 'done')
    return undefined
  }
  await openByLink(server, visit)
  await page.getByRole('link', { name: 'Templates' }).click()
  await page.getByRole('row', { name: 'base-small' }).waitFor()
  await page.getByRole('link', { name: 'Build one from a Dockerfile here' }).click()
  await page.getByRole('button', { name: 'A Flask application' }).click()
  await page.getByText('4 supported, 0 ignored, 0 refused.').waitFor()
  await page.getByText("holt template build -t web . --start-cmd 'python app.py'").waitFor()
  await page.getByText(/^1 file, \d+ B$/).waitFor()
  await page.getByRole('button', { name: 'Build', exact: true }).click()
  await page.getByText('Step 2 of 3 runs: RUN part 2').waitFor()
  await page.getByText('Collecting flask').waitFor()
  // The address of the build shows the same after a reload, and after its end.
  await page.reload()
  await page.getByText('Step 2 of 3 runs: RUN part 2').waitFor()
  await page.getByText('Collecting flask').waitFor()
  end(undefined)
  await page.getByText('The template is ready.').waitFor()
  await page.getByRole('table', { name: 'Steps' }).getByText('1.5 s').first().waitFor()
  const { source } = builder.runs[0]?.request ?? {}
  expect(source).toMatchObject({ type: 'dockerfile', text: await readFile(join(flask, 'Dockerfile'), 'utf8') })
  expect(program).toBe(await readFile(join(flask, 'app.py'), 'utf8'))
  expect(builder.runs[0]?.request).toMatchObject({ startCmd: 'python app.py', readyCmd: null })
  await page.reload()
  await page.getByText('Collecting flask').waitFor()
  await page.getByRole('link', { name: 'Start a runtime' }).click()
  const dialog = page.getByRole('dialog', { name: 'Create a runtime' })
  await dialog.getByText('holt create --template web').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.waitForURL(`${server.server.url}/console/runtimes`)
  expect(visit.complaints).toEqual([])
})

test('the editor marks each line as it is typed, and the list below says why', async () => {
  const { server, visit, page } = await setUp()
  await open({ server, visit }, '/templates/build')
  await write(page, 'FROM scratch\nRUN --security=insecure x\nCMD y')
  await page.getByText('1 supported, 1 ignored, 1 refused: it cannot be built yet.').waitFor()
  const marks = page.locator('.verdict')
  await expect.poll(() => marks.allTextContents()).toEqual(['✓', '✗', '–'])
  expect(await marks.nth(1).getAttribute('title')).toMatch(/^refused\. .+/)
  const list = page.getByRole('table', { name: 'Lines to look at' })
  await list.getByRole('row').filter({ hasText: 'CMD y' }).getByText('ignored').waitFor()
  await list.getByRole('button', { name: 'Show line 2' }).click()
  await page.keyboard.press('Home')
  await page.keyboard.insertText('# ')
  await page.getByText('1 supported, 1 ignored, 0 refused.').waitFor()
  await expect.poll(() => marks.allTextContents()).toEqual(['✓', '–'])
  // Tab leaves the editor, as it leaves any field.
  await page.getByLabel('Name of the template').fill('mine')
  expect(visit.complaints).toEqual([])
})

test('a directory is sent without what its .dockerignore excludes, with options and secrets', async () => {
  const { server, builder, visit, page } = await setUp()
  const folder = await mkdtemp(join(tmpdir(), 'holt-console-context-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'src/deep'), { recursive: true })
  await writeFile(join(folder, 'Dockerfile'), 'FROM scratch\nARG A\nCOPY . /srv\n')
  await writeFile(join(folder, '.dockerignore'), '**/*.key\n')
  await writeFile(join(folder, 'src/deep/run.sh'), '#!/bin/sh\n')
  await writeFile(join(folder, 'src/a.key'), 'x')
  await writeFile(join(folder, 'b.key'), 'x')
  let listed = ''
  builder.script = async ({ request }) => {
    listed = execFileSync('tar', ['-tvf', request.context?.path ?? '']).toString()
    return undefined
  }
  await open({ server, visit }, '/templates/build')
  await page.locator('input[type=file][webkitdirectory]').setInputFiles(folder)
  await page.getByText('3 supported, 0 ignored, 0 refused.').waitFor()
  const files = page.getByRole('table', { name: 'Files of the build' })
  await files.getByText('src/deep/run.sh').waitFor()
  await page.getByRole('button', { name: 'Write a file…' }).click()
  await page.getByLabel('Path of the file').fill('/notes.txt')
  await page.getByLabel('Content of the file').fill('written here')
  await page.getByRole('button', { name: 'Keep the file' }).click()
  await files.getByRole('button', { name: 'Edit notes.txt' }).waitFor()
  await page.getByLabel('Name of the template').fill('mine')
  await page.getByLabel('Tag', { exact: true }).fill('v2')
  await page.getByText('More options').click()
  await page.getByLabel('Memory').fill('512MiB')
  await page.getByLabel('Build arguments').fill('A=1')
  await page.getByLabel('Results of earlier builds').selectOption('yes')
  await page.getByRole('button', { name: 'Add a secret' }).click()
  await page.getByLabel('Id of secret 1').fill('npm')
  await page.getByLabel('Value of secret 1').fill('hunter22\nof two lines')
  await page.getByText('--secret id=npm,env=NPM').waitFor()
  expect(await page.getByLabel('The same with a client').textContent()).not.toContain('hunter22')
  await page.getByRole('button', { name: 'Build', exact: true }).click()
  await page.getByText('The template is ready.').waitFor()
  expect(listed).toMatch(/^-rwxr-xr-x.* src\/deep\/run\.sh$/m)
  expect(listed).toMatch(/^-rw-r--r--.* notes\.txt$/m)
  expect(listed).not.toMatch(/\.key/)
  expect(builder.runs[0]?.request).toMatchObject({
    buildArgs: { A: '1' },
    buildSecrets: { npm: 'hunter22\nof two lines' },
    memoryMiB: 512,
    noCache: true,
  })
  await page.getByText('Build of mine:v2').waitFor()
  expect(visit.complaints).toEqual([])
})

describe('a build that fails', () => {
  test('shows the step, its output and the hint, and is built again with the same Dockerfile', async () => {
    const { server, builder, visit, page } = await setUp()
    builder.script = async ({ host }) => {
      host.report.steps([step(1, 'FROM scratch', 'done'), step(2, 'RUN <b>make</b>', 'running')])
      const details = { exit_code: 3, output: 'last words\n<img src=x onerror=alert(1)>' }
      throw new BuildError('step_failed', 'RUN <b>make</b> exited with 3', { step: 2, hint: 'Correct it.', details })
    }
    const asked = { dockerfile: 'FROM scratch\nRUN <b>make</b>', tag: 'v2', start_cmd: 'serve', disk: '8GiB' }
    const id = await begin(server, { ...asked, build_secrets: { token: 'hunter22' }, timeout_secs: 99 })
    await open({ server, visit }, `/builds/${id}`)
    const why = page.getByRole('alert', { name: 'Why the build failed' })
    await why.getByText('RUN <b>make</b> exited with 3').waitFor()
    await why.getByText('line 2 of the Dockerfile').waitFor()
    expect(await why.locator('pre').textContent()).toBe('last words\n<img src=x onerror=alert(1)>')
    await why.getByText('Correct it.').waitFor()
    await page.getByRole('link', { name: 'Edit and build again' }).click()
    await page.getByText(/^holt template build -t app:v2 \. .*--start-cmd serve/).waitFor()
    await page.getByLabel('Value of secret 1').fill('hunter33')
    await write(page, 'FROM scratch\nRUN true')
    builder.script = async () => undefined
    await page.getByText('2 supported, 0 ignored, 0 refused.').waitFor()
    await page.getByRole('button', { name: 'Build', exact: true }).click()
    await page.getByText('The template is ready.').waitFor()
    expect(builder.runs[1]?.request).toMatchObject({
      source: { type: 'dockerfile', text: 'FROM scratch\nRUN true' },
      startCmd: 'serve',
      diskMiB: 8192,
      timeoutMs: 99_000,
      buildSecrets: { token: 'hunter33' },
    })
    expect(await page.locator('main b, main img').count()).toBe(0)
    expect(visit.complaints).toEqual([])
  })

  test('is cancelled, and one with steps in place of a Dockerfile is repeated', async () => {
    const { server, builder, visit, page } = await setUp()
    builder.script = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const id = await begin(server, { from_image: 'alpine:3', steps: [{ run: 'sleep 600' }] })
    await open({ server, visit }, `/builds/${id}`)
    await page.getByRole('button', { name: 'Cancel the build' }).click()
    await page.getByText('The build was cancelled.').waitFor()
    await page.getByRole('link', { name: 'Edit and build again' }).click()
    await page.getByText('"run": "sleep 600"').waitFor()
    builder.script = async () => undefined
    await page.getByRole('button', { name: 'Build again' }).click()
    await page.getByText('The template is ready.').waitFor()
    expect(builder.runs[1]?.request.source).toMatchObject({ type: 'image', reference: 'alpine:3' })
    await page.getByRole('link', { name: 'Builds' }).click()
    const rows = page.getByRole('table', { name: 'Builds' }).getByRole('row')
    await rows.filter({ hasText: 'cancelled' }).waitFor()
    await rows.filter({ hasText: 'ready' }).waitFor()
    expect(visit.complaints).toEqual([])
  })
})

test('hostile lines of a log are text, and long logs do not fill the page', async () => {
  const { server, builder, visit, page } = await setUp()
  builder.script = async ({ host }) => {
    const log = (message: string) => host.report.log({ level: 'info', step: 1, message })
    host.report.steps([step(1, 'RUN noise', 'running')])
    for (let line = 0; line < 3000; line += 1) log(`line ${line}`)
    const link = '\u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u0007'
    log(`\u001b[31mred ${hostile}\u001b[0m\u001b]52;c;aGk=\u0007${link}`)
    log('10 %\r50 %\rdone \u202ereversed\u0000')
    log('x'.repeat(10 * 2 ** 20))
    return undefined
  }
  const id = await begin(server, { dockerfile: 'FROM scratch' })
  await ended(server, id)
  await open({ server, visit }, `/builds/${id}`)
  const lines = page.getByRole('region', { name: 'Lines of the log' })
  await lines.getByText(`red ${hostile}link`, { exact: true }).waitFor()
  await lines.getByText('done \\u202ereversed\\u0000').waitFor()
  await lines.getByText(/more characters, in the saved log/).waitFor()
  expect(await lines.locator('img, script, a').count()).toBe(0)
  expect(await lines.locator('.log-line').count()).toBeLessThanOrEqual(500)
  const text = (await lines.textContent()) ?? ''
  expect(text.length).toBeLessThan(100_000)
  expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f]/)
  await page.getByRole('button', { name: /^Show earlier lines/ }).click()
  await expect.poll(() => lines.locator('.log-line').count()).toBeGreaterThan(500)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save the log' }).click(),
  ])
  expect(await readFile(await download.path(), 'utf8')).toMatch(/^line 0\nline 1\n/)
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  expect(await page.title()).not.toMatch(/[12]/)
  expect(visit.complaints).toEqual([])
})

describe('one template', () => {
  test('shows its settings, history and use, and is deleted after a question that names its users', async () => {
    const { server, visit, page } = await setUp()
    const asked = { dockerfile: 'FROM scratch', start_cmd: 'sleep', ready_cmd: 'true', env: { KEY: '<i>value</i>' } }
    const first = await begin(server, asked)
    await ended(server, first)
    await ended(server, await begin(server, { dockerfile: 'FROM scratch', tag: 'v2' }))
    await server.makeRuntime({ template: 'app', name: 'user-of-it' })
    await open({ server, visit }, '/templates/app')
    await page.getByRole('heading', { name: 'app', exact: true }).waitFor()
    await page.getByRole('table', { name: 'Commands of the template' }).getByText('sleep').waitFor()
    await page.getByRole('link', { name: 'v2' }).waitFor()
    await page.getByText('holt run -t app -- COMMAND').waitFor()
    await page.getByText('holt create --template app').waitFor()
    await page.getByText('this project only').waitFor()
    await page.getByText('1 runtime', { exact: true }).waitFor()
    await page.getByRole('table', { name: 'Builds of the template' }).getByRole('link', { name: first }).waitFor()
    await page.getByRole('button', { name: 'Delete…' }).click()
    const question = page.getByRole('alertdialog')
    await question.getByRole('link', { name: 'user-of-it' }).waitFor()
    await question.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'Templates', exact: true }).waitFor()
    await page.getByRole('row', { name: 'app:v2' }).waitFor()
    expect(await page.getByRole('link', { name: 'app', exact: true }).count()).toBe(0)
    await page.getByLabel('Find a template').fill('nowhere')
    await page.getByText('No template matches').waitFor()
    expect(visit.complaints).toEqual([])
  })

  test('of an unknown or hostile name in the address is an error with a hint', async () => {
    const { server, visit, page } = await setUp()
    const name = '<img src=x onerror=alert(1)>'
    await open({ server, visit }, `/templates/${encodeURIComponent(name)}`)
    await page.getByRole('alert').waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    await page.goto(`${server.server.url}/console/builds/${encodeURIComponent('"><svg onload=alert(1)>')}`)
    await page
      .getByRole('alert')
      .getByText(/^Request rq/)
      .waitFor()
    expect(await page.locator('main svg').count()).toBe(0)
    expect(visit.complaints).toEqual([])
  })

  test('is shown without actions to a key that may only read', async () => {
    const { server, visit, page } = await setUp()
    const id = await begin(server, { dockerfile: 'FROM scratch' })
    await ended(server, id)
    const { key } = await server.makeKey('template:read', 'runtime:read')
    await open({ server, visit }, '/templates/app', key)
    await page.getByRole('heading', { name: 'app', exact: true }).waitFor()
    await page.getByRole('link', { name: id }).click()
    await page.getByText('The template is ready.').waitFor()
    await page.getByRole('link', { name: 'Show the template' }).click()
    await page.getByRole('heading', { name: 'app', exact: true }).waitFor()
    expect(await page.getByRole('link', { name: /Start|Build a|Edit/ }).count()).toBe(0)
    expect(await page.getByRole('button', { name: /Delete|Cancel|Build/ }).count()).toBe(0)
  })
})

test.each(['light', 'dark'] as const)(
  'every page is accessible in the %s theme, also on a phone',
  async (colorScheme) => {
    const { server, builder, visit, page } = await setUp({ colorScheme, viewport: { width: 360, height: 740 } })
    builder.script = async ({ host }) => {
      const long = `RUN ${'a-long-word'.repeat(30)}`
      host.report.steps([step(1, 'FROM scratch', 'cached'), { ...step(2, long, 'running'), stage: 'one' }])
      for (const level of ['info', 'warn', 'error'] as const) host.report.log({ level, step: 2, message: long })
      throw new BuildError('step_failed', `${long}\nlast words`, { step: 2 })
    }
    const id = await begin(server, { dockerfile: 'FROM scratch\nCMD x', env: { LONG: 'x'.repeat(500) } })
    await ended(server, id)
    const look = async () => {
      expect(await faultsOf(page, colorScheme)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    }
    await open({ server, visit }, '/templates')
    await page.getByRole('row', { name: 'base-small' }).waitFor()
    await look()
    await page.getByRole('link', { name: 'app' }).click()
    await page.getByRole('link', { name: id }).waitFor()
    await look()
    await page.getByRole('link', { name: id }).click()
    await page.getByRole('alert', { name: 'Why the build failed' }).waitFor()
    await page.getByRole('region', { name: 'Lines of the log' }).getByText('warn:').waitFor()
    await look()
    await page.getByRole('link', { name: 'Edit and build again' }).click()
    await write(page, `FROM scratch\nRUN --security=insecure ${'long'.repeat(50)}\nCMD y`)
    await page.getByText('1 refused').waitFor()
    await page.getByText('More options').click()
    await page.getByText('All lines').click()
    await page.getByRole('button', { name: 'Add a secret' }).click()
    await page.getByRole('button', { name: 'Write a file…' }).click()
    await look()
    await page.getByRole('link', { name: 'Builds' }).click()
    await page.getByRole('table', { name: 'Builds' }).waitFor()
    await look()
    expect(visit.complaints).toEqual([])
  },
)
