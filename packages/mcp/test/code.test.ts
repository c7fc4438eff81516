import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { codeValues } from '../src/results/code-values.ts'
import { type OpenClient, openClient, textOf } from './support/open-client.ts'

let service: TestService
let opened: OpenClient
beforeEach(async () => {
  service = await startTestService()
  opened = await openClient(service)
  await opened.holt.runtimes.create({ name: 'mine' })
})
afterEach(() => service.close())

const text = (name: string, args: object = {}) => opened.text(name, { runtime: 'mine', ...args })
const call = (name: string, args: object = {}) => opened.call(name, { runtime: 'mine', ...args })
const run = (code: string, more: object = {}) => text('run_code', { code, ...more })

test('returns the end, both streams and the value, and keeps variables', async () => {
  expect(await run('print out\nwarn err\nset x 41')).toMatch(
    /^The code ended after .* s\. context_id: default-python, execution_count: 1, run_id: cr\w+\n--- stdout ---\nout\n\n--- stderr ---\nerr\n$/,
  )
  expect(await run('get x')).toContain('--- result ---\n41')
  expect(await run('get x', { language: 'javascript' })).toContain('--- error ---\nNameError')
  expect(await run('env NAME', { env: { NAME: 'value' } })).toContain('value\n')
})

test('an error has its traceback without colours', async () => {
  const failed = await run('raise ValueError no')
  expect(failed).toMatch(/^The code raised an error/)
  expect(failed).toContain('--- error ---\nValueError: no\nTraceback (most recent call last)\nValueError: no')
})

test('images are images, and of other values the form for models is taken', async () => {
  const { content } = await call('run_code', {
    code: 'show image/png aGk=\nshow text/html <b>x</b>\njson {"a": 1}\nshow application/x-other y',
  })
  expect(content.slice(1)).toEqual([
    { type: 'image', data: 'aGk=', mimeType: 'image/png' },
    { type: 'text', text: '--- result ---\n<shown>' },
    { type: 'text', text: '--- result ---\n{"a":1}' },
    { type: 'text', text: '--- result ---\n<shown>' },
  ])
})

test('images and values beyond the limits are counted', async () => {
  const many = await call('run_code', { code: Array.from({ length: 25 }, () => 'show image/png aGk=').join('\n') })
  expect(many.content.filter(({ type }) => type === 'image')).toHaveLength(8)
  expect(textOf(many)).toMatch(/\[12 images left out: [\s\S]*\[5 values left out\./)
  const long = await run(`result ${'x'.repeat(50_000)}`)
  expect(long).toMatch(/x\n\[… [\d,]+ bytes of the value left out\./)
  expect(long.length).toBeLessThan(9000)
})

test('a value that only claims to be an image has its other form', () => {
  const values = ['no base64!', ''].map((image) => ({
    data: { 'image/png': image, 'text/plain': 'shown' },
    metadata: {},
    main: false,
  }))
  const shown = { type: 'text', text: '--- result ---\nshown' }
  expect(codeValues(values, false)).toEqual([shown, shown])
})

test('images that are too large together are left out, and counted', () => {
  const image = (bytes: number) => ({ data: { 'image/png': 'A'.repeat(bytes) }, metadata: {}, main: false })
  const content = codeValues([image(3_000_000), image(3_000_000), image(1_000_000)], true)
  expect(content.map(({ type }) => type)).toEqual(['image', 'image', 'text', 'text'])
  expect(textOf({ content })).toMatch(/\[1 images left out: .*\n\[Values, or forms of them, were too large/)
})

test('long output has its beginning and its end, and the rest is read by cursor', async () => {
  const line = (at: number) => `line ${at}`
  const ran = await run(Array.from({ length: 6000 }, (_, at) => `print ${line(at)}`).join('\n'))
  expect(ran.length).toBeLessThan(14_000)
  const [head = '', note = ''] = /[\s\S]*\n(?=\[…)|.*/.exec(ran)?.[0].split('--- stdout ---\n').slice(1) ?? []
  const [, run_id, cursor] = /run_id (cr\w+) and cursor (\d+)/.exec(ran) ?? []
  const shown = head.trimEnd().split('\n')
  let [next, rest] = [Number(cursor) as number | null, '']
  while (next !== null) {
    const { content } = await call('read_code_output', { run_id, cursor: next })
    const [part, end] = content.map((block) => (block.type === 'text' ? block.text : ''))
    rest += end === undefined ? '' : part
    const found = /Read on with cursor (\d+)/.exec(end ?? part ?? '')
    next = found === null ? null : Number(found[1])
  }
  expect(note).toBe('')
  expect([...shown, ...rest.trimEnd().split('\n')]).toEqual(Array.from({ length: 6000 }, (_, at) => line(at)))
})

test('reports the last line and then the end', async () => {
  const told: (string | undefined)[] = []
  await opened.text(
    'run_code',
    { runtime: 'mine', code: 'print one\nprint two\nprint three' },
    { onprogress: ({ message }) => told.push(message) },
  )
  expect(told.slice(-2)).toEqual(['three', expect.stringMatching(/^The code ended/)])
})

test('a cancelled call interrupts its code', async () => {
  const stop = new AbortController()
  const args = { runtime: 'mine', code: 'print begun\nwait' }
  const began = Promise.withResolvers<void>()
  const running = opened.call('run_code', args, { signal: stop.signal, onprogress: () => began.resolve() })
  running.catch(() => undefined)
  await began.promise
  stop.abort()
  await expect(running).rejects.toThrow()
  await expect.poll(() => service.count('interruptCodeRun')).toBe(1)
  expect(await run('print after')).toContain('after')
})

test('another call interrupts the code of a context', async () => {
  const running = run('wait')
  await expect.poll(() => service.interpreter?.contexts.map(({ state }) => state)).toEqual(['busy'])
  expect(JSON.parse(await text('interrupt_code', { context_id: 'default-python' }))).toMatchObject({
    language: 'python',
  })
  expect(await running).toMatch(/^The code was interrupted/)
})

test('contexts are created, listed, restarted and deleted', async () => {
  expect(await text('list_code_contexts')).toMatch(/^There are no contexts/)
  const { context_id } = JSON.parse(await text('create_code_context', { language: 'javascript', cwd: '/tmp' }))
  await run('set x 1', { context_id })
  await text('restart_code_context', { context_id })
  expect(await run('get x', { context_id })).toContain('NameError')
  expect(JSON.parse(await text('list_code_contexts'))).toMatchObject({ context_id, cwd: '/tmp' })
  expect(await text('delete_code_context', { context_id })).toBe(`Deleted ${context_id}.`)
  expect(textOf(await call('run_code', { code: 'print x', context_id }))).toMatch(
    /code: code_context_not_found\nhint: Call list_code_contexts/,
  )
  expect((await call('run_code', { code: 'print x', context_id: 'a', language: 'python' })).isError).toBe(true)
})

test('a process that dies is a result that says what is lost', async () => {
  expect(await run('die')).toMatch(/^The process of the context ended .*\. The variables of earlier code are lost\./)
})

test('a runtime without an interpreter names the template that has one', async () => {
  service.interpreter = null
  const refused = await call('run_code', { code: 'print x' })
  expect(textOf(refused)).toMatch(/code: code_interpreter_missing\nhint: Call create_runtime with the template code-/)
})
