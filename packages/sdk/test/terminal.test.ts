import { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { AttachServerFrame } from '@holt/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CommandHandle, Holt, type Terminal, type TerminalEvent } from '../src/index.ts'
import { type FakeWebSocket, fakeWebSockets } from './support/fake-web-socket.ts'
import { startTestService, type TestService } from './support/test-service.ts'

const pty = { cols: 80, rows: 24 }
let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

/** A command in a terminal, and attachments to it for which `onSocket` plays the service. */
async function setUp(
  onSocket: (socket: FakeWebSocket, index: number, start: (cursor?: number) => AttachServerFrame) => void,
) {
  let command: CommandHandle | undefined
  const start = (cursor = 0): AttachServerFrame => ({
    type: 'start',
    command_id: command?.command_id ?? ('' as never),
    pid: 1,
    pty,
    cursor,
    replay_end: 0,
  })
  const { sockets, WebSocket } = fakeWebSockets((socket, index) => onSocket(socket, index, start))
  const holt = new Holt({ url: service.url, apiKey: service.key, resumeTimeoutSecs: 2, webSocket: WebSocket })
  const runtime = await holt.runtimes.create()
  command = await runtime.commands.start('cat', { stdin: true, pty })
  return { holt, runtime, command, sockets }
}

const granted: AttachServerFrame = { type: 'writer', writing: true, reason: 'granted' }
const ending = (cursor: number): AttachServerFrame[] => [
  { type: 'exit', cursor, exit_code: 3, signal: null, timed_out: false },
  { type: 'end', cursor },
]

async function shown(terminal: Terminal): Promise<string> {
  let all = ''
  for await (const bytes of terminal) all += Buffer.from(bytes).toString()
  return all
}

describe('an attachment', () => {
  test('sends its key as a subprotocol, never in the query, and yields bytes to the end', async () => {
    const { command, sockets } = await setUp((socket, _, start) => {
      socket.open(start(5), granted)
      socket.show('out')
      socket.tell({ type: 'stream', stream: 'stderr', cursor: 8 })
      socket.show('err')
      socket.tell(...ending(11))
    })
    const terminal = await command.attach({ cursor: 5, write: true })
    const chunks = await Array.fromAsync(terminal.output())
    expect(chunks.map(({ stream, data, cursor }) => [stream, Buffer.from(data).toString(), cursor])).toEqual([
      ['stdout', 'out', 8],
      ['stderr', 'err', 11],
    ])
    expect(await terminal.exited).toEqual({ exit_code: 3, signal: null, timed_out: false })
    expect([terminal.size, terminal.cursor]).toEqual([pty, 11])
    const [{ url, protocols }] = sockets as [FakeWebSocket]
    expect(protocols).toEqual(['holt.attach.v1', `holt.key.${service.key}`])
    expect([url.protocol, url.pathname.endsWith(`/commands/${command.command_id}/attach`)]).toEqual(['ws:', true])
    expect(url.href).not.toContain(service.key)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ cursor: '5', write: 'true' })
  })

  test('continues after the last byte when its connection breaks, and can type again', async () => {
    const events: TerminalEvent['type'][] = []
    const { command, sockets } = await setUp((socket, index, start) => {
      if (index === 1) return socket.break()
      socket.open(start(Number(socket.url.searchParams.get('cursor'))), granted)
      socket.show(index === 0 ? 'one' : 'two')
      if (index === 0) socket.break()
      else socket.tell(...ending(6))
    })
    const terminal = await command.attach({ write: true, onEvent: ({ type }) => void events.push(type) })
    expect(await shown(terminal)).toBe('onetwo')
    expect(sockets.map(({ url }) => url.searchParams.get('cursor'))).toEqual(['0', '3', '3'])
    expect(new Set(sockets.map(({ url }) => url.searchParams.get('client'))).size).toBe(1)
    expect(sockets.map(({ url }) => url.searchParams.get('write'))).toEqual(['true', 'true', 'true'])
    expect(events).toEqual(['writer', 'broken', 'writer', 'resumed'])
  })

  test('acknowledges dropped output, so that the window opens again', async () => {
    const dropped = 3 * 1024 * 1024
    const { command, sockets } = await setUp((socket, _, start) => {
      socket.open(start(), { type: 'dropped', cursor: dropped, dropped_bytes: dropped })
    })
    const terminal = await command.attach()
    expect(sockets[0]?.frames).toContainEqual({ type: 'taken', cursor: dropped })
    await terminal.close()
  })

  test('reports dropped output, and continues counting after it', async () => {
    const events: TerminalEvent[] = []
    const { command } = await setUp((socket, _, start) => {
      socket.open(start(), { type: 'dropped', cursor: 100, dropped_bytes: 100 })
      socket.show('rest')
      socket.tell(...ending(104))
    })
    const terminal = await command.attach({ onEvent: (event) => void events.push(event) })
    expect(await shown(terminal)).toBe('rest')
    expect([terminal.cursor, events]).toEqual([104, [{ type: 'dropped', cursor: 100, dropped_bytes: 100 }]])
  })

  test('acknowledges read output, so that unread output is not sent', async () => {
    const { command, sockets } = await setUp((socket, _, start) => {
      socket.open(start())
      for (let index = 0; index < 16; index += 1) socket.show('x'.repeat(65_536))
    })
    const terminal = await command.attach()
    const [socket] = sockets as [FakeWebSocket]
    expect(Number(socket.url.searchParams.get('window'))).toBe(1024 * 1024)
    const before = socket.frames.length
    const output = terminal.output()
    for (let index = 0; index < 8; index += 1) await output.next()
    expect(socket.frames.slice(before)).toEqual([
      { type: 'taken', cursor: 262_144 },
      { type: 'taken', cursor: 524_288 },
    ])
    await terminal.close()
    expect(socket.isClosed).toBe(true)
  })

  test('ends with the error of the service when it cannot be resumed', async () => {
    const { command, runtime } = await setUp((socket, index, start) => {
      if (index === 0) socket.open(start())
      socket.break()
    })
    await runtime.delete()
    const terminal = await command.attach().catch((error: unknown) => error as Error)
    if (terminal instanceof Error) throw terminal
    await expect(shown(terminal)).rejects.toMatchObject({ code: 'runtime_terminated' })
    await expect(terminal.exited).rejects.toMatchObject({ code: 'runtime_terminated' })
    await expect(terminal.write('x')).rejects.toMatchObject({ code: 'conflict' })
  })

  test.each([
    [4401, { code: 'unauthenticated' }],
    [1008, { reason: 'lost' }],
    [4409, { reason: 'lost' }],
  ])('is not retried after %i', async (code, error) => {
    const { command, sockets } = await setUp((socket, _, start) => {
      socket.open(start())
      socket.break(code)
    })
    await expect(shown(await command.attach())).rejects.toMatchObject(error)
    expect(sockets.length).toBe(1)
  })

  test('that is refused rejects with the answer to the same request without an upgrade', async () => {
    const { runtime, command } = await setUp((socket) => socket.break())
    await expect(runtime.commands.attach(`cm${'a'.repeat(20)}`)).rejects.toMatchObject({ code: 'command_not_found' })
    await expect(command.attach()).rejects.toMatchObject({ reason: 'lost', message: expect.stringContaining('proxy') })
  })

  test('needs a WebSocket, and says how to get one', async () => {
    const { command } = await setUp(() => {})
    const { WebSocket } = globalThis
    try {
      Object.assign(globalThis, { WebSocket: undefined })
      const holt = new Holt({ url: service.url, apiKey: service.key })
      const [runtime] = await holt.runtimes.list().all()
      await expect(runtime?.commands.attach(command.command_id)).rejects.toMatchObject({
        code: 'not_supported_here',
        hint: expect.stringContaining('Node 22'),
      })
    } finally {
      Object.assign(globalThis, { WebSocket })
    }
  })

  test('ends with its signal, and with an error of a listener', async () => {
    const { command } = await setUp((socket, _, start) => socket.open(start(), granted))
    const controller = new AbortController()
    const terminal = await command.attach({ signal: controller.signal })
    const reading = shown(terminal)
    controller.abort(new Error('enough'))
    await expect(reading).rejects.toThrow('enough')
    const throwing = await command.attach({
      onEvent: () => {
        throw new Error('a defect of the listener')
      },
    })
    await expect(shown(throwing)).rejects.toThrow('a defect of the listener')
  })
})

describe('input', () => {
  test('is sent in pieces, in order, and resolves when the command has received it', async () => {
    const { command, sockets } = await setUp((socket, _, start) => socket.open(start(), granted))
    const terminal = await command.attach({ write: true })
    const [socket] = sockets as [FakeWebSocket]
    let done = 0
    const large = terminal.write('x'.repeat(200_000)).then(() => (done += 1))
    const ends = [terminal.write('end'), terminal.eof()]
    expect([socket.input.length, socket.frames.some(({ type }) => type === 'eof')]).toEqual([131_072, false])
    socket.tell({ type: 'input', taken_bytes: 131_072 })
    expect([socket.input.length, done]).toEqual([200_003, 0])
    expect(socket.frames.at(-1)).toEqual({ type: 'eof' })
    socket.tell({ type: 'input', taken_bytes: 200_000 })
    await large
    socket.tell({ type: 'input', taken_bytes: 200_003 })
    await Promise.all(ends)
    expect(socket.input.toString()).toBe(`${'x'.repeat(200_000)}end`)
  })

  test('that is refused, lost with the connection or not allowed rejects', async () => {
    const { command, sockets } = await setUp((socket, _, start) =>
      socket.open(start(), ...(socket.url.searchParams.has('write') ? [granted] : [])),
    )
    const watcher = await command.attach()
    await expect(watcher.write('x')).rejects.toMatchObject({ code: 'conflict' })
    const terminal = await command.attach({ write: true })
    const socket = sockets[1] as FakeWebSocket
    const [refused, given] = [terminal.write('abc'), terminal.write('de')]
    socket.tell(
      { type: 'error', about: 'input', code: 'conflict', message: 'stdin is closed' },
      { type: 'input', taken_bytes: 3 },
    )
    socket.tell({ type: 'input', taken_bytes: 5 })
    await expect(refused).rejects.toThrow('stdin is closed')
    await given
    const unknown = terminal.write('x')
    socket.break()
    await expect(unknown).rejects.toMatchObject({ reason: 'lost' })
    const kept = terminal.write('later')
    await expect.poll(() => sockets[2]?.input.toString()).toBe('later')
    sockets[2]?.tell({ type: 'writer', writing: false, reason: 'lost' })
    await expect(kept).rejects.toMatchObject({ code: 'conflict' })
    expect(terminal.writing).toBe(false)
  })

  test('without an acknowledgement is sent again from its position, if the service counts input', async () => {
    const { command, sockets } = await setUp((socket, index, start) =>
      socket.open({ ...start(), ...(index < 2 ? { counts_input: true } : {}) } as AttachServerFrame, granted),
    )
    const terminal = await command.attach({ write: true })
    const [socket] = sockets as [FakeWebSocket]
    const writes = ['ab', 'cd', 'ef'].map((text) => terminal.write(text))
    socket.tell({ type: 'input', taken_bytes: 2 })
    await writes[0]
    expect(socket.frames).toContainEqual({ type: 'input', position: 0 })
    socket.break()
    await expect.poll(() => sockets[1]?.input.toString()).toBe('cdef')
    expect(sockets[1]?.frames).toContainEqual({ type: 'input', position: 2 })
    sockets[1]?.tell({ type: 'input', taken_bytes: 4 })
    await Promise.all(writes)
    const unknown = terminal.write('g')
    sockets[1]?.break()
    // The next service is an older one, which would type it twice.
    await expect(unknown).rejects.toMatchObject({ reason: 'lost' })
    expect(sockets[2]?.input.toString()).toBe('')
    await terminal.close()
  })

  test('can resize, signal and take over', async () => {
    const { command, sockets } = await setUp((socket, _, start) => socket.open(start()))
    const terminal = await command.attach()
    const [socket] = sockets as [FakeWebSocket]
    await terminal.resize({ cols: 100, rows: 30 })
    await terminal.sendSignal('SIGINT')
    await terminal.takeOver()
    expect(socket.frames.slice(-3)).toEqual([
      { type: 'resize', cols: 100, rows: 30 },
      { type: 'signal', signal: 'SIGINT' },
      { type: 'write', takeover: true },
    ])
    socket.tell(granted, { type: 'resize', cols: 100, rows: 30 })
    expect([terminal.writing, terminal.size]).toEqual([true, { cols: 100, rows: 30 }])
    await terminal.close()
    await expect(terminal.resize({ cols: 1, rows: 1 })).rejects.toMatchObject({ code: 'conflict' })
    await expect(terminal.sendSignal('SIGINT')).rejects.toMatchObject({ code: 'conflict' })
  })
})

test('is a pair of Web streams, which Node can convert', async () => {
  const { command, sockets } = await setUp((socket, _, start) => {
    socket.open(start(), granted)
    socket.show('hello ')
    socket.show('world')
    socket.tell(...ending(11))
  })
  const duplex = Duplex.fromWeb((await command.attach({ write: true })) as never)
  expect(await text(duplex)).toBe('hello world')
  expect(sockets.length).toBe(1)
  duplex.destroy()
})

test('a terminal is resized by its handle', async () => {
  const { command } = await setUp(() => {})
  await command.resize({ cols: 120, rows: 40 })
  expect(command.pty).toEqual({ cols: 120, rows: 40 })
})
