import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CodeItem, Holt, type Runtime } from '../src/index.ts'
import { startTestService, type TestService } from './support/test-service.ts'

let service: TestService
let runtime: Runtime
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key, resumeTimeoutSecs: 0.5 }).runtimes.create()
})
afterEach(() => service.close())

const plain = (results: readonly { readonly data: Readonly<Record<string, unknown>> }[]) =>
  results.map(({ data }) => data['text/plain'])

describe('run', () => {
  test('returns output, results and the end', async () => {
    await expect(runtime.code.run('print out\nwarn err\nshow image/png aGk=\nresult 42')).resolves.toEqual({
      run_id: expect.stringMatching(/^cr/),
      context_id: 'default-python',
      status: 'ok',
      stdout: 'out\n',
      stderr: 'err\n',
      results: [
        { data: { 'image/png': 'aGk=', 'text/plain': '<shown>' }, metadata: {}, main: false },
        { data: { 'text/plain': '42' }, metadata: {}, main: true },
      ],
      error: null,
      execution_count: 1,
      truncated: { stdout: false, stderr: false, results: false },
      duration_ms: 1,
      state_lost: false,
    })
  })

  test('keeps variables in the context of a language, and in one that was created', async () => {
    await runtime.code.run('set x 1')
    expect(plain((await runtime.code.run('get x')).results)).toEqual(['1'])
    expect((await runtime.code.run('get x', { language: 'javascript' })).error?.name).toBe('NameError')
    const context = await runtime.code.contexts.create({ cwd: '/tmp' })
    await runtime.code.run('set x 2', { context })
    expect(plain((await runtime.code.run('get x', { context: context.context_id })).results)).toEqual(['2'])
  })

  test.each([
    ['raise ValueError no', 'error'],
    ['wait', 'timed_out'],
    ['die', 'kernel_died'],
    ['swell', 'out_of_memory'],
  ])('with the code %s is a result of the status %s', async (code, status) => {
    await expect(runtime.code.run(code, { timeout_secs: 0.05 })).resolves.toMatchObject({ status })
  })

  test('listeners get output and results as they arrive', async () => {
    const heard: string[] = []
    await runtime.code.run('print a\nname d 1\nupdate d 2\nwarn b', {
      onStdout: (text) => heard.push(`out ${text}`),
      onStderr: (text) => heard.push(`err ${text}`),
      onResult: ({ data }) => heard.push(`result ${data['text/plain']}`),
    })
    expect(heard).toEqual(['out a\n', 'result 1', 'result 2', 'err b\n'])
  })

  test('results have the last value of a display, and no cleared one', async () => {
    const shown = async (code: string) => plain((await runtime.code.run(code)).results)
    expect(await shown('name a 1%\nname b x\nupdate a 99%')).toEqual(['99%', 'x'])
    expect(await shown('name a 1\nclear\nname b 2')).toEqual(['2'])
    expect(await shown('name a 1\nclear wait')).toEqual(['1'])
    expect(await shown('name a 1\nclear wait\nprint x')).toEqual([])
  })

  test('limits of the result are kept, and reported', async () => {
    const result = await runtime.code.run(`fill 100\nshow text/html ${'y'.repeat(400)}\nresult 42`, {
      max_output_bytes: 10,
      max_result_bytes: 200,
    })
    expect(result.stdout).toBe('x'.repeat(10))
    expect(result.results.map(({ data }) => Object.keys(data))).toEqual([['text/plain'], ['text/plain']])
    expect(result.truncated).toEqual({ stdout: true, stderr: false, results: true })
  })

  test('an abort interrupts the run before the call throws', async () => {
    const controller = new AbortController()
    const waiting = runtime.code.run('set x 1\nwait', { signal: controller.signal, timeout_secs: 0 })
    await expect.poll(() => service.interpreter?.runs).toBe(1)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(service.count('interruptCodeRun')).toBe(1)
    expect(plain((await runtime.code.run('get x')).results)).toEqual(['1'])
  })

  test('an abort leaves the run alone if that is asked for', async () => {
    const controller = new AbortController()
    const options = { signal: controller.signal, timeout_secs: 0, onAbort: 'leave' } as const
    const waiting = runtime.code.run('wait', options)
    await expect.poll(() => service.interpreter?.runs).toBe(1)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(service.count('interruptCodeRun')).toBe(0)
  })
})

describe('stream', () => {
  test('continues after the last item when its connection breaks', async () => {
    service.faults.push({ route: 'runCode', type: 'cut', items: 2 })
    const items: CodeItem[] = []
    for await (const item of runtime.code.stream('print a\nprint b\nresult 1')) items.push(item)
    expect(items.map(({ type, cursor }) => [type, cursor])).toEqual([
      ['start', 0],
      ['stdout', 1],
      ['stdout', 2],
      ['result', 3],
      ['end', 4],
    ])
    expect(service.interpreter?.runs).toBe(1)
  })

  test('a break before the start is reported, because the run may exist', async () => {
    service.faults.push({ route: 'runCode', type: 'cut', items: 0 })
    await expect(runtime.code.run('print a')).rejects.toMatchObject({
      code: 'connection_lost',
      message: expect.stringContaining('start of the run'),
    })
  })

  test('a loop that is left interrupts the run', async () => {
    for await (const item of runtime.code.stream('print a\nwait', { timeout_secs: 0 }))
      if (item.type === 'stdout') break
    expect(service.count('interruptCodeRun')).toBe(1)
  })

  test('a run is read again by its id', async () => {
    const { run_id } = await runtime.code.run('print a')
    const read = async (cursor?: number) => {
      const types: string[] = []
      const options = cursor === undefined ? {} : { cursor }
      for await (const { type } of runtime.code.read(run_id, options)) types.push(type)
      return types
    }
    expect(await read()).toEqual(['start', 'stdout', 'end'])
    expect(await read(1)).toEqual(['end'])
  })
})

test('contexts are created, listed, read, interrupted, restarted and deleted', async () => {
  const { contexts } = runtime.code
  const made = await contexts.create({ language: 'javascript' })
  await runtime.code.run('set x 1', { context: made })
  expect(await contexts.get(made)).toEqual({ ...made, execution_count: 1 })
  expect((await contexts.list().all()).map(({ context_id }) => context_id)).toEqual([made.context_id])
  expect((await contexts.interrupt(made.context_id)).state).toBe('idle')
  expect((await contexts.restart(made)).execution_count).toBe(0)
  expect((await runtime.code.run('get x', { context: made })).error?.name).toBe('NameError')
  await contexts.delete(made)
  await expect(contexts.get(made)).rejects.toMatchObject({ code: 'code_context_not_found' })
})

test('a runtime without an interpreter names the template that has one', async () => {
  service.interpreter = null
  await expect(runtime.code.run('1')).rejects.toMatchObject({
    code: 'code_interpreter_missing',
    hint: expect.stringContaining('code-interpreter'),
  })
})
