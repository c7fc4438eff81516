import { describe, expect, it } from 'vitest'
import { messageEnvelope } from '../../src/connect/envelopes.ts'
import type { ProcessItem } from '../../src/index.ts'
import { startEnvd } from '../support/start-envd.ts'

const end = (exitCode: number | null, signal: string | null = null, timedOut = false): ProcessItem => ({
  type: 'end',
  end: { exitCode, signal, timedOut },
})
const stdout = (text: string): ProcessItem => ({ type: 'stdout', data: Buffer.from(text) })

const start = (cmd: string, more: object = {}) => ({ process: { cmd, args: ['-c'] }, stdin: false, ...more })

describe('a process', () => {
  it('is a start, its output and an end, and then an empty end envelope', async () => {
    const { stream } = await startEnvd({ echo: [stdout('hi\n'), end(3)] })
    const { status, messages, error, isComplete } = await stream('process.Process/Start', [start('echo')])
    expect([status, error, isComplete]).toEqual([200, null, true])
    expect(messages).toEqual([
      { event: { start: { pid: 100 } } },
      { event: { data: { stdout: 'aGkK' } } },
      { event: { end: { exitCode: 3, exited: true, status: 'exit status 3', error: 'exit status 3' } } },
    ])
  })

  it('of a terminal has its output as pty, in pieces', async () => {
    const { stream } = await startEnvd({ bash: [stdout('x'.repeat(40_000)), end(0)] })
    const pty = { size: { cols: 80, rows: 24 } }
    const { messages } = await stream('process.Process/Start', [start('bash', { pty })])
    const pieces = messages.slice(1, -1).map(({ event }) => Buffer.from(event.data.pty, 'base64').length)
    expect(pieces).toEqual([16384, 16384, 7232])
  })

  it('takes its fields by old names, and has stdin unless it is refused', async () => {
    const { stream, inside } = await startEnvd({ echo: [end(0)] })
    await stream('process.Process/Start', [{ process: { cmd: 'echo', unknown_field: 1 }, tag: 't' }], {
      'connect-timeout-ms': '5000',
      authorization: `Basic ${Buffer.from('root:').toString('base64')}`,
    })
    expect(inside.started[0]?.start).toMatchObject({
      hasStdin: true,
      tag: 't',
      timeoutMs: 5000,
      account: 'root',
      cwd: '',
    })
  })

  it.each([
    ['that cannot start', [start('x', { process: { cmd: 'x', cwd: '/nope' } })], 'invalid_argument', /cwd '\/nope'/],
    ['without a program', [start('')], 'invalid_argument', /cmd/],
    ['without a message', [], 'invalid_argument', /no message/],
  ])('%s is an error in a stream with status 200', async (_, messages, code, words) => {
    const { stream } = await startEnvd()
    const answer = await stream('process.Process/Start', messages)
    expect(answer).toMatchObject({ status: 200, messages: [], error: { code } })
    expect(answer.error.message).toMatch(words)
  })

  it('that was killed at its timeout ends with deadline_exceeded', async () => {
    const { stream } = await startEnvd({ sleep: [end(137, 'SIGKILL', true)] })
    const { error } = await stream('process.Process/Start', [start('sleep')])
    expect(error.code).toBe('deadline_exceeded')
  })

  it('whose output was lost ends with resource_exhausted', async () => {
    const { stream } = await startEnvd({ flood: [{ type: 'lost', bytes: 5 }, end(0)] })
    expect((await stream('process.Process/Start', [start('flood')])).error.code).toBe('resource_exhausted')
  })

  it('sends its first message at once, keepalives later, and outlives its reader', async () => {
    const { open, inside } = await startEnvd()
    const answer = await open('/process.Process/Start', {
      method: 'POST',
      headers: { 'content-type': 'application/connect+json', 'keepalive-ping-interval': '1' },
      body: messageEnvelope(start('wait')),
    })
    let seen = ''
    for await (const chunk of answer) {
      seen += String(chunk)
      if (seen.includes('keepalive')) break
    }
    expect(seen).toContain('{"event":{"start":{"pid":100}}}')
    await expect.poll(() => inside.left).toBe(true)
    expect((await inside.processes.find({ pid: 100 }, AbortSignal.timeout(1000)))?.end).toBeNull()
  })

  it('of a stream that takes too long stays, and the stream ends', async () => {
    const { stream, inside } = await startEnvd()
    await inside.processes.start(
      { argv: ['wait'], env: {}, cwd: '', account: null, terminal: null, hasStdin: true, tag: 'a', timeoutMs: null },
      AbortSignal.timeout(5000),
    )
    const { messages, error } = await stream('process.Process/Connect', [{ process: { tag: 'a' } }], {
      'connect-timeout-ms': '50',
    })
    expect([messages, error.code]).toEqual([[{ event: { start: { pid: 100 } } }], 'deadline_exceeded'])
  })
})

describe('the input of a process', () => {
  const started = async (more: object = {}) => {
    const envd = await startEnvd()
    const asked = { argv: ['cat'], env: {}, cwd: '', account: null, terminal: null, tag: null, timeoutMs: null }
    await envd.inside.processes.start({ ...asked, hasStdin: true, ...more }, AbortSignal.timeout(60_000))
    return { ...envd, process: { pid: 100 }, sent: () => Buffer.concat(envd.inside.started[0]?.input ?? []).toString() }
  }
  const input = (text: string) => ({ input: { stdin: Buffer.from(text).toString('base64') } })

  it('comes by single requests and by streams', async () => {
    const { call, stream, process, sent } = await started()
    expect(await call('process.Process/SendInput', { process, ...input('a') })).toEqual({ status: 200, json: {} })
    const messages = [{ start: { process } }, { data: input('b') }, { keepalive: {} }, { data: input('c') }]
    expect(await stream('process.Process/StreamInput', messages)).toMatchObject({ messages: [{}], error: null })
    expect(sent()).toBe('abc')
  })

  it('is closed as often as a client likes, and then takes nothing', async () => {
    const { call, process } = await started()
    for (let count = 0; count < 2; count += 1)
      expect((await call('process.Process/CloseStdin', { process })).status).toBe(200)
    const { status, json } = await call('process.Process/SendInput', { process, ...input('a') })
    expect([status, json.code]).toEqual([500, 'internal'])
  })

  it('of a terminal is pty', async () => {
    const { call, process } = await started({ terminal: { cols: 1, rows: 1 } })
    expect((await call('process.Process/SendInput', { process, ...input('a') })).json.code).toBe('internal')
    expect((await call('process.Process/SendInput', { process, input: { pty: 'YQ' } })).status).toBe(200)
    expect((await call('process.Process/CloseStdin', { process })).json.code).toBe('unknown')
  })

  it.each([
    ['SendInput', { input: { stdin: 'YQ==' } }],
    ['CloseStdin', {}],
    ['SendSignal', { signal: 'SIGNAL_SIGKILL' }],
    ['Update', { pty: { size: { cols: 1, rows: 1 } } }],
  ])('of an unknown process is not found by %s', async (method, more) => {
    const { call } = await started()
    const { status, json } = await call(`process.Process/${method}`, { process: { pid: 5 }, ...more })
    expect([status, json.code]).toEqual([404, 'not_found'])
  })

  it('must begin with the process', async () => {
    const { stream } = await started()
    expect((await stream('process.Process/StreamInput', [{ data: input('b') }])).error.code).toBe('invalid_argument')
  })

  it('ends with the process', async () => {
    const { call, process } = await started()
    expect((await call('process.Process/SendSignal', { process, signal: 9 })).status).toBe(200)
    expect((await call('process.Process/SendSignal', { process, signal: 9 })).json.code).toBe('not_found')
    expect((await call('process.Process/SendInput', { process, ...input('a') })).json.code).toBe('not_found')
  })

  it('knows two signals', async () => {
    const { call, process } = await started()
    const { status, json } = await call('process.Process/SendSignal', { process, signal: 'SIGNAL_SIGHUP' })
    expect([status, json.code]).toEqual([501, 'unimplemented'])
  })
})

describe('a request that attacks', () => {
  const head = (flags: number, length: number) => {
    const bytes = Buffer.alloc(5)
    bytes.writeUInt8(flags, 0)
    bytes.writeUInt32BE(length, 1)
    return bytes
  }

  it.each(['Start', 'Connect', 'StreamInput'])(
    '%s with a message of 4 GiB is refused before it comes',
    async (method) => {
      const { sendRaw } = await startEnvd()
      const { status, error } = await sendRaw(`process.Process/${method}`, head(0, 0xffff_ffff))
      expect([status, error.code]).toEqual([200, 'resource_exhausted'])
    },
  )

  it('with a compressed message is refused', async () => {
    const { sendRaw } = await startEnvd()
    expect((await sendRaw('process.Process/Start', Buffer.concat([head(1, 2), Buffer.from('{}')]))).error.code).toBe(
      'unimplemented',
    )
  })

  it('with a large body for one message is refused', async () => {
    const { call } = await startEnvd()
    const { status, json } = await call('process.Process/List', { filler: 'x'.repeat(70_000) })
    expect([status, json.code]).toEqual([429, 'resource_exhausted'])
  })

  it('in another format is refused', async () => {
    const { open } = await startEnvd()
    for (const type of ['application/proto', 'application/connect+proto', 'application/json']) {
      const answer = await open('/process.Process/Start', { method: 'POST', headers: { 'content-type': type } })
      answer.resume()
      expect(answer.statusCode).toBe(415)
    }
  })

  it('for a sandbox that has ended is a 502, for each kind of method', async () => {
    const { call, ask, end: finish } = await startEnvd()
    finish()
    expect((await call('process.Process/List', {})).json.message).toMatch('was not found')
    const headers = { 'content-type': 'application/connect+json' }
    const body = messageEnvelope(start('x'))
    const { status, bytes } = await ask('/process.Process/Start', { method: 'POST', headers, body })
    expect([status, JSON.parse(bytes.toString()).code]).toEqual([502, 502])
  })
})
