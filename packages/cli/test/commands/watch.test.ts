import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { runHolt } from '../support/run-holt.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
  await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
  service.onCall = (route) => {
    if (route !== 'watchFiles') return
    // After the handler has sent its start.
    setImmediate(() => {
      service.changes.push(
        { type: 'created', cursor: 1, path: '/w/d', directory: true },
        { type: 'moved', cursor: 2, from: '/w/a\u001b[2J', path: '/w/b', directory: false },
        {
          type: 'moved',
          cursor: 3,
          from: '/w/a\ufffd',
          from_base64: Buffer.from('/w/a\xff', 'latin1').toString('base64'),
          path: '/w/a\ufffd',
          path_base64: Buffer.from('/w/a\xfe', 'latin1').toString('base64'),
          directory: false,
        },
        { type: 'overflow', cursor: 4 },
        { type: 'end', cursor: 5, reason: 'removed' },
      )
      service.changed.emit('changed')
    })
  }
})
afterEach(() => service.close())

test('holt watch prints each change on a line, until the end', async () => {
  expect(await runHolt(['watch', 'mine:/w'], { service })).toEqual({
    code: 0,
    stdout: 'created     /w/d/\nmoved       /w/a\\u001b[2J -> /w/b\nmoved       /w/a\\xff -> /w/a\\xfe\n',
    stderr: 'holt: watching /w\nholt: changes were lost; read the directory again\nholt: the directory was removed\n',
  })
})

test('holt watch --json prints the items', async () => {
  const { stdout } = await runHolt(['watch', 'mine:/w', '--json'], { service })
  const items = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).type)
  expect(items).toEqual(['start', 'created', 'moved', 'moved', 'overflow', 'end'])
})

test('a path without a runtime is wrong usage', async () => {
  expect(await runHolt(['watch', '/w'], { service })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('RUNTIME:/PATH'),
  })
})
