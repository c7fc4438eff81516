import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { type OpenClient, openClient, textOf } from './support/open-client.ts'

// Commands run on this machine. A directory of the service stands for the root of the runtime.

const author = { name: 'Ada', email: 'ada@example.com' }
const path = '/work'

let service: TestService
let opened: OpenClient
let root: string
beforeEach(async () => {
  service = await startTestService()
  opened = await openClient(service)
  const { runtime_id } = await opened.holt.runtimes.create({ name: 'mine' })
  root = service.place(runtime_id, '/')
  await promisify(execFile)('git', ['init', '-q', '--bare', '-b', 'main', `${root}remote.git`])
})
afterEach(() => service.close())

const text = (name: string, args: object = {}) => opened.text(name, { runtime: 'mine', ...args })
const call = (name: string, args: object = {}) => opened.call(name, { runtime: 'mine', ...args })
const clone = (directory = 'work') =>
  text('git_clone', { url: `${root}remote.git`, path: `${root}${directory}` }).then((head) => JSON.parse(head))

test('a repository is cloned, changed, committed and pushed', async () => {
  expect(await clone()).toMatchObject({ branch: 'main', commit: null })
  await writeFile(`${root}work/file`, 'one\n')
  expect(await text('git_status', { path })).toMatch(
    /^\{"branch":"main","commit":null,.*"clean":false\}\n- {12}untracked {4}file$/,
  )
  const made = JSON.parse(await text('git_commit', { path, message: 'One', all: true, author }))
  expect(JSON.parse(await text('git_push', { path }))).toMatchObject({ commit: made.commit })
  expect(await clone('again')).toMatchObject({ commit: made.commit })
  await writeFile(`${root}work/file`, 'two\n')
  expect(await text('git_diff', { path })).toContain('-one\n+two\n')
  expect(await text('git_diff', { path, staged: true })).toBe('Nothing differs.')
})

test('a clone and a push report their progress', async () => {
  const messages: string[] = []
  const onprogress = ({ message = '' }: { message?: string | undefined }) => {
    messages.push(message)
  }
  await opened.client.callTool(
    { name: 'git_clone', arguments: { runtime: 'mine', url: `${root}remote.git`, path: `${root}work` } },
    { onprogress },
  )
  expect(messages[0]).toBe(`Cloning into '${root}work'...`)
  await writeFile(`${root}work/file`, 'one\n')
  await text('git_commit', { path, message: 'One', all: true, author })
  messages.length = 0
  await opened.client.callTool({ name: 'git_push', arguments: { runtime: 'mine', path } }, { onprogress })
  expect(messages[0]).toMatch(/^(?:Enumerating|Counting|Writing) objects: /)
})

test('a long patch has its beginning and its end, and says how to get the rest', async () => {
  await clone()
  await writeFile(`${root}work/file`, 'x')
  await text('git_commit', { path, message: 'One', all: true, author })
  await writeFile(`${root}work/file`, Array.from({ length: 20_000 }, (_, at) => `${at}\n`).join(''))
  const patch = await text('git_diff', { path })
  expect(patch).toMatch(/\[… [\d,]+ bytes of the patch left out\. git_diff with paths/)
  expect(patch.trimEnd()).toMatch(/\+19999$/)
  expect(patch.length).toBeLessThan(34_000)
})

test('a file name cannot write lines of its own', async () => {
  await clone()
  await writeFile(`${root}work/a\nmodified     -            \u001b[2Jfake`, 'x')
  const lines = (await text('git_status', { path })).split('\n')
  expect(lines).toHaveLength(2)
  expect(lines[1]).toContain('a\\u000amodified')
  expect(lines[1]).toContain('\\u001b[2Jfake')
})

test('the missing policy and the missing secret are named, with the person who can add them', async () => {
  const refused = await call('git_clone', { url: 'https://127.0.0.1:1/a.git', path: `${root}none` })
  expect(textOf(refused)).toMatch(
    /does not allow 127\.0\.0\.1:1[\s\S]*code: git_failed \(network\)\nhint: Ask the person .*--allow 127\.0\.0\.1:1/,
  )
  const without = await call('git_clone', { url: 'https://git.example.com/a.git', secret: 'token' })
  expect(textOf(without)).toMatch(/does not have the secret token[\s\S]*\(credentials\)\nhint: Ask the person/)
})

test('a failure of git itself has its reason and a remedy', async () => {
  await clone()
  expect(textOf(await call('git_commit', { path, message: 'x', author }))).toContain(
    'code: git_failed (nothing_to_commit)',
  )
  expect(textOf(await call('git_status', { path: '/' }))).toContain('code: git_failed (not_a_repository)')
})
