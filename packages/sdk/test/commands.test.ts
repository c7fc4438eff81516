import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Holt, type OutputItem, outputBytes, type Runtime } from '../src/index.ts'
import { type Fault, startTestService, type TestService } from './support/test-service.ts'

let service: TestService
let runtime: Runtime
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key, resumeTimeoutSecs: 0.5 }).runtimes.create()
})
afterEach(() => service.close())

async function textOf(items: AsyncIterable<OutputItem>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const item of items) if (item.type === 'stdout') chunks.push(outputBytes(item))
  return Buffer.concat(chunks).toString()
}

describe('run', () => {
  test('a string is run by the shell', async () => {
    await expect(runtime.commands.run('echo out; echo err >&2; exit 3')).resolves.toMatchObject({
      exit_code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    })
  })

  test('an array is run without a shell', async () => {
    await expect(runtime.commands.run(['printf', '%s', '$HOME; x'])).resolves.toMatchObject({
      exit_code: 0,
      stdout: '$HOME; x',
    })
  })

  test('a timed-out command is a result', async () => {
    await expect(runtime.commands.run('sleep 60', { timeout_secs: 0.1 })).resolves.toMatchObject({ timed_out: true })
  })

  test('listeners get the output, and the result has it too', async () => {
    const heard: string[] = []
    const result = await runtime.commands.run('echo one; echo two >&2', {
      onStdout: (text) => heard.push(text),
      onStderr: (text) => heard.push(text),
    })
    expect(result).toMatchObject({
      stdout: 'one\n',
      stderr: 'two\n',
      exit_code: 0,
      truncated: { stdout: false, stderr: false },
    })
    expect(heard.sort()).toEqual(['one\n', 'two\n'])
  })

  test('a command without a time limit is streamed, so that a long silence is no lost answer', async () => {
    await expect(runtime.commands.run('echo hi', { timeout_secs: 0 })).resolves.toMatchObject({
      stdout: 'hi\n',
      exit_code: 0,
    })
    expect(service.calls.find((call) => call.route === 'startCommand')?.headers.accept).toBe('text/event-stream')
  })

  test.each([
    ['comes with its end, in one request', true, 0],
    ['is read from an older service', false, 1],
  ])('the final state of a streamed command %s', async (_, tellsEnd, reads) => {
    service.tellsEnd = tellsEnd
    const result = await runtime.commands.run('echo hi; exit 3', { onStdout: () => undefined })
    expect(result).toMatchObject({ state: 'exited', exit_code: 3, stdout: 'hi\n', stdout_bytes: 3 })
    expect(result.ended_at).not.toBeNull()
    expect(service.calls.filter(({ route }) => route === 'getCommand')).toHaveLength(reads)

    const command = await runtime.commands.start('echo hi; exit 3')
    expect(await command.wait()).toMatchObject({ state: 'exited', exit_code: 3, stdout: 'hi\n' })
    expect(command).toMatchObject({ state: 'exited', exit_code: 3 })
    expect(service.calls.filter(({ route }) => route === 'getCommand')).toHaveLength(2 * reads)
  })

  test('characters that are split across items are joined, and invalid bytes become U+FFFD', async () => {
    const heard: string[] = []
    await runtime.commands.run("printf '\\303'; sleep 0.05; printf '\\251\\377'", {
      onStdout: (text) => heard.push(text),
    })
    expect(heard.join('')).toBe('é\uFFFD')
  })

  test('keeps the first MiB of a stream and says that it is truncated', async () => {
    let heard = 0
    const result = await runtime.commands.run('head -c 1500000 /dev/zero', {
      onStdout: (text) => (heard += text.length),
    })
    expect(result.stdout.length).toBe(1024 * 1024)
    expect(result.truncated).toEqual({ stdout: true, stderr: false })
    expect(heard).toBe(1_500_000)
  })

  test('stdin is given as text', async () => {
    await expect(runtime.commands.run('cat', { stdin: 'hello' })).resolves.toMatchObject({ stdout: 'hello' })
  })
})

test('a start with a lost answer is repeated, and the command starts once', async () => {
  service.faults.push({ route: 'startCommand', type: 'lose' })
  const command = await runtime.commands.start('echo once')
  await expect(command.wait()).resolves.toMatchObject({ exit_code: 0, stdout: 'once\n' })
  expect(service.count('startCommand')).toBe(2)
  expect(await runtime.commands.list().all()).toHaveLength(1)
})

test('a wait with a time limit ends in time, and the command continues', async () => {
  const command = await runtime.commands.start('read line; echo $line', { stdin: true })
  await expect(command.wait({ signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: 'TimeoutError' })
  await command.writeStdin('more\n')
  await expect(command.wait({ signal: AbortSignal.timeout(30_000) })).resolves.toMatchObject({ stdout: 'more\n' })
})

describe('stream', () => {
  test('yields items from start to end', async () => {
    const types: string[] = []
    for await (const item of runtime.commands.stream('echo hi')) types.push(item.type)
    expect(types).toEqual(['start', 'stdout', 'exit', 'end'])
  })

  test.each([1, 2, 3])('continues after the last item when the connection breaks after %i', async (items) => {
    service.faults.push({ route: 'startCommand', type: 'cut', items }, { route: 'readOutput', type: 'cut', items: 1 })
    const text = await textOf(runtime.commands.stream('for i in 1 2 3; do echo $i; sleep 0.05; done'))
    expect(text).toBe('1\n2\n3\n')
    expect(service.count('startCommand')).toBe(1)
  })

  test('a connection that breaks before the start is an error, and nothing runs twice', async () => {
    service.faults.push({ route: 'startCommand', type: 'cut', items: 0 })
    await expect(textOf(runtime.commands.stream('echo hi'))).rejects.toMatchObject({ reason: 'lost' })
    expect(service.count('startCommand')).toBe(1)
  })

  test('gives up when no more items arrive', async () => {
    service.faults.push({ route: 'startCommand', type: 'cut', items: 1 })
    for (let i = 0; i < 40; i++) service.faults.push({ route: 'readOutput', type: 'cut', items: 0 })
    await expect(textOf(runtime.commands.stream('echo hi'))).rejects.toMatchObject({ reason: 'lost' })
  })
})

describe('a cancelled command', () => {
  const endless = 'echo hi; sleep 30'

  /** The commands that run. */
  async function running() {
    return (await runtime.commands.list().all()).filter(({ state }) => state === 'running')
  }

  test.each<[string, () => Promise<unknown>]>([
    [
      'a run that is aborted',
      async () => {
        const controller = new AbortController()
        const work = runtime.commands.run(endless, { signal: controller.signal })
        const heard = expect(work).rejects.toThrow('enough')
        while ((await running()).length === 0);
        controller.abort(new Error('enough'))
        await heard
      },
    ],
    [
      'a run that is aborted before the service has answered',
      async () => {
        const controller = new AbortController()
        service.onCall = (route) => {
          if (route === 'startCommand') controller.abort(new Error('enough'))
        }
        await expect(runtime.commands.run(endless, { signal: controller.signal })).rejects.toThrow('enough')
        expect(service.count('startCommand')).toBe(1)
      },
    ],
    [
      'a run whose listener throws',
      async () => {
        const onStdout = () => {
          throw new Error('enough')
        }
        await expect(runtime.commands.run(endless, { onStdout })).rejects.toThrow('enough')
      },
    ],
    [
      'a stream that is aborted in its loop',
      async () => {
        const controller = new AbortController()
        const reading = (async () => {
          for await (const item of runtime.commands.stream(endless, { signal: controller.signal }))
            if (item.type === 'stdout') controller.abort(new Error('enough'))
        })()
        await expect(reading).rejects.toThrow('enough')
      },
    ],
    [
      'a stream that is aborted while nobody reads it',
      async () => {
        const controller = new AbortController()
        const items = runtime.commands.stream(endless, { signal: controller.signal })
        await items.next()
        controller.abort(new Error('enough'))
        await expect.poll(running).toEqual([])
      },
    ],
    [
      'a stream whose loop is left',
      async () => {
        for await (const item of runtime.commands.stream(endless)) if (item.type === 'stdout') break
      },
    ],
    [
      'a stream whose loop throws',
      async () => {
        const reading = (async () => {
          for await (const item of runtime.commands.stream(endless))
            if (item.type === 'stdout') throw new Error('enough')
        })()
        await expect(reading).rejects.toThrow('enough')
      },
    ],
    [
      'a command of a session',
      async () => {
        for await (const item of runtime.commands.session('s').stream(endless)) if (item.type === 'stdout') break
      },
    ],
  ])('is killed: %s', async (_, leave) => {
    await leave()
    expect(await running()).toEqual([])
    expect(service.count('killCommand')).toBe(1)
  })

  test.each<[string, () => Promise<unknown>]>([
    [
      'a run that is aborted',
      async () => {
        const controller = new AbortController()
        service.onCall = (route) => {
          if (route === 'startCommand') setTimeout(() => controller.abort(new Error('enough')), 50)
        }
        const { signal } = controller
        await expect(runtime.commands.run(endless, { signal, onAbort: 'leave' })).rejects.toThrow('enough')
      },
    ],
    [
      'a stream that is aborted',
      async () => {
        const controller = new AbortController()
        const reading = (async () => {
          for await (const item of runtime.commands.stream(endless, { signal: controller.signal, onAbort: 'leave' })) {
            if (item.type === 'stdout') controller.abort(new Error('enough'))
          }
        })()
        await expect(reading).rejects.toThrow('enough')
      },
    ],
    [
      'a stream whose loop is left',
      async () => {
        for await (const item of runtime.commands.stream(endless, { onAbort: 'leave' }))
          if (item.type === 'stdout') break
      },
    ],
  ])('continues with `leave`: %s', async (_, leave) => {
    await leave()
    const [command, ...others] = await running()
    expect(others).toEqual([])
    await command?.kill()
    expect(command?.state).toBe('exited')
  })

  test('is not killed if it or its runtime has ended', async () => {
    const { signal } = new AbortController()
    await expect(runtime.commands.run('echo hi', { signal })).resolves.toMatchObject({ exit_code: 0, stdout: 'hi\n' })
    for await (const _ of runtime.commands.stream('echo hi', { signal }));
    for await (const item of runtime.commands.stream('echo hi')) if (item.type === 'exit') break
    const late = new AbortController()
    const reading = (async () => {
      for await (const item of runtime.commands.stream('echo hi', { signal: late.signal }))
        if (item.type === 'exit') late.abort(new Error('enough'))
    })()
    await expect(reading).rejects.toThrow('enough')
    expect(service.count('killCommand')).toBe(0)
    service.faults.push({ route: 'killCommand', type: 'refuse', code: 'runtime_terminated' })
    for await (const item of runtime.commands.stream(endless)) if (item.type === 'stdout') break
    expect(service.count('killCommand')).toBe(1)
  })

  describe('whose start has no answer yet', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    })
    afterEach(() => {
      vi.useRealTimers()
    })

    /** Aborts a run as soon as its start has arrived. */
    function abortAtStart(fault: Omit<Fault, 'route'>) {
      const controller = new AbortController()
      service.faults.push({ route: 'startCommand', ...fault })
      service.onCall = (route) => {
        if (route === 'startCommand') controller.abort(new Error('enough'))
      }
      return runtime.commands.run(endless, { signal: controller.signal, session: 's' })
    }

    test.each<[string, Omit<Fault, 'route'>]>([
      ['is refused', { type: 'refuse', code: 'unavailable', headers: { 'retry-after': '30' } }],
      ['finds its session busy', { type: 'refuse', code: 'conflict', details: { reason: 'session_busy' } }],
      ['loses its connection', { type: 'lose' }],
      ['breaks off before its first item', { type: 'cut', items: 0 }],
    ])('is not waited for where it %s', async (_, fault) => {
      await expect(abortAtStart(fault)).rejects.toThrow('enough')
      expect(service.count('startCommand')).toBe(1)
    })

    test('is waited for while its start may still arrive, up to a limit', async () => {
      let isOver = false
      const work = expect(abortAtStart({ type: 'hang' }).finally(() => (isOver = true))).rejects.toThrow('enough')
      await vi.waitFor(() => expect(service.count('startCommand')).toBe(1), { timeout: 10_000 })
      await vi.advanceTimersByTimeAsync(4_900)
      expect(isOver).toBe(false)
      await vi.advanceTimersByTimeAsync(100)
      await work
    })
  })

  test('is not started if the signal was aborted before', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(runtime.commands.run('true', { signal })).rejects.toThrow('enough')
    expect(service.count('startCommand')).toBe(0)
  })
})

describe('in the background', () => {
  test('can be started, written to, and waited for', async () => {
    const command = await runtime.commands.start(['cat'], { stdin: true })
    expect(command.state).toBe('running')
    expect(await command.writeStdin('one ')).toBe(4)
    await command.writeStdin(Uint8Array.of(0xff, 0x0a))
    await command.closeStdin()
    await expect(command.wait()).resolves.toMatchObject({ exit_code: 0, stdout: 'one \uFFFD\n' })
    expect(command.state).toBe('exited')
  })

  test('input arrives once despite lost answers, failed requests and short writes', async () => {
    service.stdinPieceBytes = 300_000
    const patient = await new Holt({ url: service.url, apiKey: service.key }).runtimes.get(runtime.runtime_id)
    const command = await patient.commands.start(['sha256sum'], { stdin: true })
    const bytes = Buffer.alloc(3_000_000)
    for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((at * 2654435761) >>> 0, at)
    // Two faults of each of the first five writes: after ten in a row the client would wait for 20
    // s.
    let requests = 0
    service.onCall = (route) => {
      if (route !== 'writeStdin' || ++requests > 15 || requests % 3 === 0) return
      service.faults.push({ route, type: requests % 3 === 1 ? 'lose' : 'refuse' })
    }
    expect(await command.writeStdin(bytes)).toBe(bytes.length)
    expect(requests).toBeGreaterThanOrEqual(15)
    service.faults.push({ route: 'writeStdin', type: 'lose' })
    await command.closeStdin()
    expect(service.faults).toEqual([])
    await expect(command.wait()).resolves.toMatchObject({
      stdout: `${createHash('sha256').update(bytes).digest('hex')}  -\n`,
    })
  })

  test('a handle from get continues after earlier input', async () => {
    const { command_id } = await runtime.commands.start(['cat'], { stdin: true })
    await (await runtime.commands.get(command_id)).writeStdin('one ')
    service.faults.push({ route: 'writeStdin', type: 'lose' }, { route: 'writeStdin', type: 'lose' })
    const found = await runtime.commands.get(command_id)
    await Promise.all([found.writeStdin('two '), found.writeStdin('three')])
    await found.closeStdin()
    await expect(found.wait()).resolves.toMatchObject({ stdout: 'one two three' })
  })

  test('a write after an aborted one begins at the offset of the service', async () => {
    const command = await runtime.commands.start(['cat'], { stdin: true })
    const controller = new AbortController()
    service.onCall = (route) => {
      if (route !== 'writeStdin') return
      service.onCall = () => undefined
      service.faults.push({ route, type: 'lose' })
      controller.abort(new Error('enough'))
    }
    await expect(command.writeStdin('one ', { signal: controller.signal })).rejects.toThrow('enough')
    await vi.waitFor(() => expect(service.processes.get(command.command_id)?.taken).toBe(4))
    await command.writeStdin('two ')
    await command.closeStdin()
    await expect(command.wait()).resolves.toMatchObject({ stdout: 'one two ' })
  })

  test.each(['a generator', 'a Web stream', 'a Node stream'])(
    '%s is written in few requests and closed',
    async (kind) => {
      async function* pieces() {
        for (let index = 0; index < 2000; index++) yield `line ${index}\n`
      }
      const source =
        kind === 'a generator'
          ? pieces()
          : kind === 'a Web stream'
            ? Readable.toWeb(Readable.from(pieces()))
            : Readable.from(pieces())
      const command = await runtime.commands.start(['wc', '-l'], { stdin: true })
      await command.pipeStdin(source as AsyncIterable<string>)
      await expect(command.wait()).resolves.toMatchObject({ stdout: '2000\n' })
      expect(service.count('writeStdin')).toBeLessThan(1000)
    },
  )

  test('a source that fails rejects with its own error', async () => {
    async function* failing() {
      yield 'some'
      throw new Error('no more')
    }
    const command = await runtime.commands.start(['cat'], { stdin: true })
    await expect(command.pipeStdin(failing())).rejects.toThrow('no more')
    await command.kill()
  })

  test('a closed stdin is a conflict with its reason', async () => {
    const command = await runtime.commands.start(['true'], { stdin: true })
    await command.wait()
    await expect(command.writeStdin('late')).rejects.toMatchObject({
      code: 'conflict',
      details: { reason: 'stdin_closed' },
    })
  })

  test('a result has the requested number of bytes', async () => {
    const command = await runtime.commands.start('echo hello; echo wörld >&2')
    await expect(command.wait({ max_output_bytes: 4 })).resolves.toMatchObject({
      stdout: 'hell',
      stderr: 'wör',
      truncated: { stdout: true, stderr: true },
    })
    await expect(runtime.commands.run('echo hello', { max_output_bytes: 2, timeout_secs: 0 })).resolves.toMatchObject({
      stdout: 'he',
      truncated: { stdout: true, stderr: false },
    })
  })

  test('signals and kills', async () => {
    const first = await runtime.commands.start('trap "exit 7" INT; echo ready; while :; do sleep 0.02; done')
    for await (const item of first.output()) if (item.type === 'stdout') await first.sendSignal('SIGINT')
    await expect(first.wait()).resolves.toMatchObject({ exit_code: 7 })
    const second = await runtime.commands.start('sleep 30')
    await second.kill()
    expect(second).toMatchObject({ state: 'exited', signal: 'SIGKILL' })
  })

  test('output is read from a cursor, without a follow', async () => {
    const command = await runtime.commands.start('echo one; echo two')
    await command.wait()
    const all: OutputItem[] = []
    for await (const item of command.output({ follow: false })) all.push(item)
    const middle = all.find((item) => item.type === 'stdout')?.cursor ?? 0
    const rest: OutputItem[] = []
    for await (const item of command.output({ cursor: middle })) rest.push(item)
    expect(rest).toEqual(all.filter((item) => item.cursor > middle))
  })

  test('is found again by its id', async () => {
    const { command_id } = await runtime.commands.start('exit 4')
    const found = await runtime.commands.get(command_id)
    await expect(found.wait()).resolves.toMatchObject({ command_id, exit_code: 4 })
  })
})

describe('a session', () => {
  const busy = { route: 'startCommand', type: 'refuse', code: 'conflict', details: { reason: 'session_busy' } } as const

  test('names itself in each command, and can be listed and ended', async () => {
    const session = runtime.commands.session('dev')
    await expect(session.run('echo hi')).resolves.toMatchObject({ stdout: 'hi\n', session: 'dev' })
    await (await session.start('true')).wait()
    expect(await textOf(session.stream('echo there'))).toBe('there\n')
    const bodies = service.calls.filter(({ route }) => route === 'startCommand').map(({ body }) => body)
    expect(bodies).toMatchObject([{ session: 'dev' }, { session: 'dev' }, { session: 'dev' }])
    expect((await runtime.commands.sessions().all()).map(({ name }) => name)).toEqual(['dev'])
    await session.end()
    await expect(session.end()).rejects.toMatchObject({ code: 'session_not_found' })
  })

  test.each(['', '.', '..'])('named %j never leads to another path', async (name) => {
    await expect(runtime.commands.session(name).end()).rejects.toMatchObject({ code: 'invalid_request' })
    expect(service.runtimes.size).toBe(1)
    expect(service.count('deleteRuntime')).toBe(0)
  })

  test('waits for its turn', async () => {
    service.faults.push(busy, busy)
    await expect(runtime.commands.session('dev').run('echo hi')).resolves.toMatchObject({ stdout: 'hi\n' })
    expect(service.count('startCommand')).toBe(3)
  })

  test('stops waiting on a cancel', async () => {
    for (let index = 0; index < 100; index++) service.faults.push(busy)
    const signal = AbortSignal.timeout(300)
    await expect(runtime.commands.session('dev').run('echo hi', { signal })).rejects.toThrow()
    service.faults.length = 0
  })

  test('another conflict is thrown', async () => {
    service.faults.push({ ...busy, details: { reason: 'session_user' } })
    await expect(runtime.commands.session('dev').run('true')).rejects.toMatchObject({ code: 'conflict' })
  })
})
