import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { runHolt } from '../support/run-holt.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
  await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
})
afterEach(() => service.close())

test('holt diff prints a line for each change, of all pages', async () => {
  const { code, stdout, stderr } = await runHolt(['diff', 'mine', '/w'], { service })
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'A  /w/a\nA  /w/b\n', stderr: '' })
})

test('holt diff --patch prints exactly the patch, and --stat the changed lines', async () => {
  const patch = await runHolt(['diff', 'mine', '/w', '--patch'], { service })
  expect(patch).toEqual({ code: 0, stdout: 'diff --git a/w/a b/w/a\ndiff --git a/w/b b/w/b\n', stderr: '' })
  const stat = await runHolt(['diff', 'mine', '/w', '--stat'], { service })
  expect(stat).toEqual({ code: 0, stdout: ' /w/a | added\n /w/b | added\n', stderr: '' })
})

test('holt diff --json prints all changes as one object', async () => {
  const { stdout } = await runHolt(['diff', 'mine', '/w', '--json', '--patch'], { service })
  expect(JSON.parse(stdout)).toMatchObject({
    data: [{ path: '/w/a' }, { path: '/w/b' }],
    next_cursor: null,
    truncated: false,
    patch: 'diff --git a/w/a b/w/a\ndiff --git a/w/b b/w/b\n',
    patch_complete: true,
  })
})

test('holt diff refuses --stat with --patch', async () => {
  expect(await runHolt(['diff', 'mine', '--stat', '--patch'], { service })).toMatchObject({ code: 2 })
})
