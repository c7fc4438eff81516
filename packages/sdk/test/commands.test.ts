import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Holt, type OutputItem, outputBytes, type Runtime } from '../src/index.ts'
import { startTestService, type TestService } from './support/test-service.ts'

let service: TestService
let runtime: Runtime
beforeEach(async () => {
  service = await startTestService()
  runtime = await new Holt({ url: service.url, apiKey: service.key, resumeTimeoutMs: 500 }).runtimes.create()
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

  test('an array is run as it is', async () => {
    await expect(runtime.commands.run(['printf', '%s', '$HOME; x'])).resolves.toMatchObject({
      exit_code: 0,
      stdout: '$HOME; x',
    })
  })

  test('a time limit is a result', async () => {
    await expect(runtime.commands.run('sleep 60', { timeout_secs: 0.1 })).resolves.toMatchObject({ timed_out: true })
  })

  test('listeners hear the output and the result has it too', async () => {
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

  test('a command without a time limit is streamed, so no silence is taken for a lost answer', async () => {
    await expect(runtime.commands.run('echo hi', { timeout_secs: 0 })).resolves.toMatchObject({
      stdout: 'hi\n',
      exit_code: 0,
    })
    expect(service.calls.find((call) => call.route === 'startCommand')?.headers.accept).toBe('text/event-stream')
  })

  test('characters are put together across items, bytes that are none become U+FFFD', async () => {
    const heard: string[] = []
    await runtime.commands.run("printf '\\303'; sleep 0.05; printf '\\251\\377'", {
      onStdout: (text) => heard.push(text),
    })
    expect(heard.join('')).toBe('é\uFFFD')
  })

  test('keeps the first MiB of a stream and says that there was more', async () => {
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

describe('stream', () => {
  test('yields from start to end', async () => {
    const types: string[] = []
    for await (const item of runtime.commands.stream('echo hi')) types.push(item.type)
    expect(types).toEqual(['start', 'stdout', 'exit', 'end'])
  })

  test.each([1, 2, 3])('goes on after the last item when the connection breaks after %i', async (items) => {
    service.faults.push({ route: 'startCommand', type: 'cut', items }, { route: 'readOutput', type: 'cut', items: 1 })
    const text = await textOf(runtime.commands.stream('for i in 1 2 3; do echo $i; sleep 0.05; done'))
    expect(text).toBe('1\n2\n3\n')
    expect(service.count('startCommand')).toBe(1)
  })

  test('a connection that breaks before the start is an error, and nothing is run twice', async () => {
    service.faults.push({ route: 'startCommand', type: 'cut', items: 0 })
    await expect(textOf(runtime.commands.stream('echo hi'))).rejects.toMatchObject({ reason: 'lost' })
    expect(service.count('startCommand')).toBe(1)
  })

  test('gives up when nothing comes any more', async () => {
    service.faults.push({ route: 'startCommand', type: 'cut', items: 1 })
    for (let i = 0; i < 40; i++) service.faults.push({ route: 'readOutput', type: 'cut', items: 0 })
    await expect(textOf(runtime.commands.stream('echo hi'))).rejects.toMatchObject({ reason: 'lost' })
  })

  test('an abort ends the reading, not the command', async () => {
    const controller = new AbortController()
    const reading = (async () => {
      for await (const item of runtime.commands.stream('echo hi; sleep 30', { signal: controller.signal })) {
        if (item.type === 'stdout') controller.abort(new Error('enough'))
      }
    })()
    await expect(reading).rejects.toThrow('enough')
    const [command] = await runtime.commands.list().all()
    expect(command?.state).toBe('running')
    await command?.kill()
  })
})

describe('in the background', () => {
  test('starts, is written to, and is waited for', async () => {
    const command = await runtime.commands.start(['cat'], { stdin: true })
    expect(command.state).toBe('running')
    expect(await command.writeStdin('one ')).toBe(4)
    await command.writeStdin(Uint8Array.of(0xff, 0x0a))
    await command.closeStdin()
    await expect(command.wait()).resolves.toMatchObject({ exit_code: 0, stdout: 'one \uFFFD\n' })
    expect(command.state).toBe('exited')
  })

  test('signals and kills', async () => {
    const first = await runtime.commands.start('trap "exit 7" INT; echo ready; while :; do sleep 0.02; done')
    for await (const item of first.output()) if (item.type === 'stdout') await first.sendSignal('SIGINT')
    await expect(first.wait()).resolves.toMatchObject({ exit_code: 7 })
    const second = await runtime.commands.start('sleep 30')
    await second.kill()
    expect(second).toMatchObject({ state: 'exited', signal: 'SIGKILL' })
  })

  test('output is read from a cursor, without staying', async () => {
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
