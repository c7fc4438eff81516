import { afterEach, beforeEach, expect, test } from 'vitest'
import { Holt, type Runtime } from '../../../sdk/src/index.ts'
import { startTestService, type TestService } from '../../../sdk/test/support/test-service.ts'
import { runHolt } from '../support/run-holt.ts'

let service: TestService
let runtime: Runtime
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key }).runtimes.create({ name: 'mine' })
  await runtime.files.write('/a.txt', 'one\ntwo\none\n')
})
afterEach(() => service.close())

test('holt edit replaces an exact text', async () => {
  const ended = await runHolt(['edit', 'mine:/a.txt', 'two\none', '2'], { service })
  expect(ended).toEqual({ code: 0, stdout: '', stderr: 'Edited /a.txt: 1 place\n' })
  expect(await runtime.files.readText('/a.txt')).toBe('one\n2\n')
})

test('a text that occurs more often needs --count', async () => {
  const refused = await runHolt(['edit', 'mine:/a.txt', 'one', '1'], { service })
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('2 times') })
  const ended = await runHolt(['edit', '--count', '2', '--json', 'mine:/a.txt', 'one', '1'], { service })
  expect(JSON.parse(ended.stdout)).toMatchObject({ total_count: 2 })
  expect(await runtime.files.readText('/a.txt')).toBe('1\ntwo\n1\n')
})

test.each([['0'], ['x'], ['-1']])('--count %s is wrong usage', async (count) => {
  expect(await runHolt(['edit', '--count', count, 'mine:/a.txt', 'one', '1'], { service })).toMatchObject({ code: 2 })
})
