import { AttachClientFrame, attachKeyPrefix, attachProtocol, HoltError } from '@holt/protocol'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { arbitraryOf } from '../../support/arbitrary-of-schema.ts'
import { attach, type Refused, TestAttachment } from '../../support/attach.ts'
import { startAttachServer as setUp } from '../../support/attach-server.ts'
import { makeProject } from '../../support/own-project.ts'

const size = { cols: 80, rows: 24 }

describe('an attachment', () => {
  test('begins with start, carries bytes both ways, and ends with exit, end and 1000', async () => {
    const { start, attached } = await setUp()
    const id = await start({ command: 'cat', pty: size })
    const one = await attached(id, '?write=true')
    one.type('hello ')
    one.type('world')
    await expect.poll(() => one.text).toBe('hello world')
    one.say({ type: 'eof' })
    expect(await one.closed).toEqual({ code: 1000, reason: '' })
    expect(one.frames.map(({ type }) => type).filter((type) => type !== 'input')).toEqual([
      'start',
      'writer',
      'exit',
      'end',
    ])
    expect(one.frames[0]).toMatchObject({ command_id: id, cursor: 0, replay_end: 0, pty: size })
    expect(one.last('exit')).toEqual({ type: 'exit', exit_code: 0, signal: null, timed_out: false, cursor: 11 })
    expect(one.last('input')?.taken_bytes).toBe(11)
  })

  test('replays from its cursor, and names the stream of each frame', async () => {
    const { start, attached } = await setUp()
    const id = await start({ command: 'complain twice' })
    const whole = await attached(id)
    await whole.closed
    expect(whole.text).toBe('twice\n')
    expect(whole.last('stream')).toMatchObject({ stream: 'stderr', cursor: 0 })
    const rest = await attached(id, '?cursor=6')
    await rest.closed
    expect([rest.text, rest.frames[0]]).toMatchObject(['', { cursor: 6, replay_end: 6 }])
  })

  test('is closed if its client sends endless pings or a message of very many fragments', async () => {
    const { start, attached } = await setUp()
    const id = await start({ command: 'cat', pty: size })
    const calm = await attached(id)
    for (let n = 0; n < 100; n += 1) calm.ws.ping()
    const pings = await attached(id)
    for (let n = 0; n < 201; n += 1) pings.ws.ping()
    expect(await pings.closed).toEqual({ code: 1008, reason: 'too many pings' })
    const pongs = await attached(id)
    for (let n = 0; n < 201; n += 1) pongs.ws.pong()
    expect(await pongs.closed).toEqual({ code: 1008, reason: 'too many pings' })
    const fragments = await attached(id, '?write=true')
    for (let n = 0; n < 257; n += 1) fragments.ws.send('', { fin: false })
    expect((await fragments.closed).code).toBe(1008)
    expect(calm.ws.readyState).toBe(calm.ws.OPEN)
  })

  test('reads nothing from a refused client, even if its key is revoked then', async () => {
    const { start, attached, makeKey, ask } = await setUp()
    const id = await start({ command: 'cat', pty: size })
    const { key, key_id } = await makeKey('runtime:read')
    const one = await attached(id, '', { key })
    const [paused, resumed] = [vi.spyOn(WebSocket.prototype, 'pause'), vi.spyOn(WebSocket.prototype, 'resume')]
    onTestFinished(() => void vi.restoreAllMocks())
    for (let n = 0; n < 201; n += 1) one.ws.ping()
    await expect.poll(() => paused.mock.calls.length).toBe(1)
    resumed.mockClear()
    await ask('DELETE', `/v1/agents/key/${key_id}`)
    expect(await one.closed).toEqual({ code: 1008, reason: 'too many pings' })
    expect(resumed.mock.contexts).not.toContain(paused.mock.contexts[0])
  })

  test('lets many watch and one write; a takeover notifies the writer', async () => {
    const { start, attached, makeKey, ask, commands } = await setUp()
    const id = await start({ command: 'cat', pty: size })
    const one = await attached(id, '?write=true')
    const two = await attached(id, '?write=true')
    const reader = await attached(id, '', { key: (await makeKey('runtime:read')).key })
    await expect.poll(() => two.last('writer')).toMatchObject({ writing: false, reason: 'taken' })
    two.type('never')
    await expect.poll(() => two.last('input')).toEqual({ type: 'input', taken_bytes: 5 })
    two.say({ type: 'resize', cols: 1, rows: 1 })
    await expect.poll(() => two.frames.filter(({ type }) => type === 'error').length).toBe(2)
    one.type('one;')
    await expect.poll(() => [one.text, two.text, reader.text]).toEqual(['one;', 'one;', 'one;'])
    two.say({ type: 'write', takeover: true })
    await expect.poll(() => [one.last('writer')?.reason, two.last('writer')?.reason]).toEqual(['lost', 'granted'])
    one.type('never')
    two.type('two;')
    await expect.poll(() => [one.text, reader.text]).toEqual(['one;two;', 'one;two;'])
    two.say({ type: 'resize', cols: 132, rows: 50 })
    await expect.poll(() => reader.last('resize')).toEqual({ type: 'resize', cols: 132, rows: 50 })
    expect((await ask('GET', `${commands}/${id}`)).json.pty).toEqual({ cols: 132, rows: 50 })
    await ask('POST', `${commands}/${id}/resize`, { json: { cols: 90, rows: 30 } })
    await expect.poll(() => one.last('resize')).toEqual({ type: 'resize', cols: 90, rows: 30 })
    two.say({ type: 'watch' })
    await expect.poll(() => two.last('writer')).toMatchObject({ writing: false, reason: 'lost' })
    reader.say({ type: 'write' })
    await expect.poll(() => reader.last('writer')).toMatchObject({ writing: false, reason: 'forbidden' })
    one.say({ type: 'write' })
    await expect.poll(() => one.last('writer')?.reason).toBe('granted')
    one.say({ type: 'signal', signal: 'SIGTERM' })
    for (const each of [one, two, reader]) expect((await each.closed).code).toBe(1000)
    expect([one.text, reader.last('exit')]).toMatchObject(['one;two;', { exit_code: 143, signal: 'SIGTERM' }])
  })

  test('releases the writer role when it disconnects, and returns it to a reconnecting client', async () => {
    const { start, attached } = await setUp()
    const id = await start({ command: 'cat', pty: size })
    const one = await attached(id, '?write=true&client=somebody-1')
    await expect.poll(() => one.last('writer')?.reason).toBe('granted')
    const again = await attached(id, '?write=true&client=somebody-1')
    expect((await one.closed).code).toBe(4409)
    await expect.poll(() => again.last('writer')?.reason).toBe('granted')
    again.ws.close()
    await again.closed
    const other = await attached(id, '?write=true&client=somebody-2')
    await expect.poll(() => other.last('writer')?.reason).toBe('granted')
  })

  test('types input once for a client that counts it, also if it is sent again to the next daemon', async () => {
    const first = await setUp()
    const id = await first.start({ command: 'cat', pty: size })
    const one = await first.attached(id, '?write=true&client=somebody-1')
    one.say({ type: 'input', position: 0 })
    for (const text of ['abc', 'd']) one.type(text)
    await expect.poll(() => one.last('input')?.taken_bytes).toBe(4)
    const next = await first.restart()
    const url = `${next.server.url}${first.commands}/${id}/attach`
    const again = await attach(`${url}?write=true&client=somebody-1`, { key: next.server.adminKey })
    if (!(again instanceof TestAttachment)) throw new Error('it was refused')
    await expect.poll(() => again.frames[0]).toMatchObject({ type: 'start', counts_input: true })
    again.say({ type: 'input', position: 3 })
    for (const text of ['d', 'ef']) again.type(text)
    await expect.poll(() => again.text).toBe('abcdef')
    expect(again.last('input')?.taken_bytes).toBe(3)
    again.ws.close()
    await again.closed
    // Another client has other positions, and a client without a count types as before.
    for (const [query, texts] of [
      ['&client=somebody-2', ['abc', 'abc']],
      ['&client=somebody-1', ['d']],
    ] as const) {
      const other = await attach(`${url}?write=true${query}`, { key: next.server.adminKey })
      if (!(other instanceof TestAttachment)) throw new Error('it was refused')
      if (texts.length > 1) other.say({ type: 'input', position: 0 })
      for (const text of texts) other.type(text)
      const typed = texts.join('').length
      await expect.poll(() => other.last('input')?.taken_bytes).toBe(typed)
      other.ws.close()
      await other.closed
    }
    const whole = await attach(url, { key: next.server.adminKey })
    if (!(whole instanceof TestAttachment)) throw new Error('it was refused')
    await expect.poll(() => whole.text).toBe('abcdefabcabcd')
  })

  test('is closed if it counts input without a name', async () => {
    const { start, attached } = await setUp()
    const one = await attached(await start({ command: 'cat', pty: size }), '?write=true')
    one.say({ type: 'input', position: 0 })
    expect((await one.closed).code).toBe(1008)
  })

  test('takes the writer role from nobody after it has disconnected', async () => {
    const { start, attached } = await setUp()
    const id = await start({ command: 'cat', pty: size })
    const [gone, stays] = [await attached(id), await attached(id)]
    for (let times = 0; times < 5_000; times++) gone.say({ type: 'write', takeover: true })
    await expect.poll(() => gone.last('writer')?.reason).toBe('granted')
    gone.ws.terminate()
    await gone.closed
    await new Promise((resolve) => setTimeout(resolve, 50))
    stays.say({ type: 'write', takeover: true })
    await expect.poll(() => stays.last('writer')?.reason).toBe('granted')
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(stays.last('writer')?.reason).toBe('granted')
  })

  test('sends at most its window beyond the acknowledged output', async () => {
    const { start, attached } = await setUp()
    const id = await start({ command: 'fill 400000' })
    const one = await attached(id, '?window=65536')
    await expect.poll(() => one.output.length).toBeGreaterThan(30_000)
    expect(one.output.length).toBeLessThanOrEqual(65_536)
    while (one.last('end') === undefined) {
      one.say({ type: 'taken', cursor: one.cursor })
      await new Promise((resolve) => setImmediate(resolve))
      expect(one.output.length).toBeLessThanOrEqual(400_000)
    }
    await one.closed
    expect(one.output.length).toBe(400_000)
  })

  test('reports the input that a command refuses, and continues', async () => {
    const { start, attached } = await setUp()
    const one = await attached(await start({ command: 'sleep' }), '?write=true')
    one.type('nobody reads this')
    one.say({ type: 'resize', cols: 10, rows: 10 })
    await expect
      .poll(() => one.frames.filter(({ type }) => type === 'error'))
      .toMatchObject([{ code: 'conflict' }, { code: 'conflict' }])
    expect(one.ws.readyState).toBe(one.ws.OPEN)
  })

  test.each([
    ['text that is no JSON', 'x'],
    ['JSON that is no frame', '{"type":"start"}'],
    ['a frame with more than it has', '{"type":"eof","x":1}'],
    ['an invalid size', '{"type":"resize","cols":0,"rows":1}'],
  ])('is closed with 1008 for %s', async (_, text) => {
    const { start, attached } = await setUp()
    const one = await attached(await start({ command: 'sleep' }))
    one.ws.send(text)
    expect((await one.closed).code).toBe(1008)
  })

  test('is closed with 1009 for a frame that is too large', async () => {
    const { start, attached } = await setUp()
    const one = await attached(await start({ command: 'cat', stdin: true }), '?write=true')
    one.ws.send(Buffer.alloc(65_537))
    expect((await one.closed).code).toBe(1009)
  })

  test('is closed with 4401 within a second after its key is revoked, and with 1001 at a service stop', async () => {
    const { start, attached, makeKey, ask, server } = await setUp()
    const id = await start({ command: 'cat', pty: size })
    const { key, key_id } = await makeKey('runtime:read', 'runtime:write')
    const one = await attached(id, '?write=true', { key })
    const other = await attached(id)
    await ask('DELETE', `/v1/agents/key/${key_id}`)
    one.type('too late')
    expect((await one.closed).code).toBe(4401)
    expect(other.text).toBe('')
    const closing = server.close()
    expect((await other.closed).code).toBe(1001)
    await closing
  })

  test('ends with 1011 when the guest fails', async () => {
    const { start, attached, engine, commands } = await setUp()
    const one = await attached(await start({ command: 'cat', pty: size }))
    engine.end(commands.split('/')[4] as never, { reason: 'crashed', message: 'by the test' })
    expect((await one.closed).code).toBe(1011)
  })

  test('ends with 1011 and as much of the guest message as fits into a close frame', async () => {
    const { start, attached, engine, commands } = await setUp()
    const id = await start({ command: 'cat', pty: size })
    const guest = engine.guest(commands.split('/')[4] as never)
    if (guest === null) throw new Error('there is no guest')
    guest.processes.output = () => {
      throw new HoltError('conflict', 'é'.repeat(1000))
    }
    const one = await attached(id)
    expect(await one.closed).toEqual({ code: 1011, reason: 'é'.repeat(61) })
  })

  test('gets 404 with the key of another project', async () => {
    const attachServer = await setUp()
    const { start, server, path, refused } = attachServer
    const id = await start({ command: 'sleep' })
    const { key } = await makeProject(attachServer, 'another')
    const foreign = await refused(id, '?write=true', { key })
    const missing = `rt${'a'.repeat(20)}`
    const none = await attach(`${server.url}/v1/agents/runtime/${missing}/commands/${id}/attach`, { key })
    if (none instanceof TestAttachment) throw new Error('it was let in')
    const said = ({ status, json }: Refused) => ({ status, ...json.error, request_id: '' })
    expect(said(foreign)).toEqual(
      JSON.parse(JSON.stringify(said(none)).replaceAll(missing, path.split('/').at(-1) ?? '')),
    )
    expect(foreign).toMatchObject({ status: 404, json: { error: { code: 'runtime_not_found' } } })
  })

  test('is limited to 64 for a command', async () => {
    const { start, attached, refused } = await setUp()
    const id = await start({ command: 'sleep' })
    const all = await Promise.all(Array.from({ length: 64 }, () => attached(id)))
    expect((await refused(id)).json.error.code).toBe('quota_exceeded')
    all[0]?.ws.close()
    await all[0]?.closed
    await attached(id)
  })
})

describe('an upgrade', () => {
  test('takes a key from the header or the subprotocols, and answers only its own protocol', async () => {
    const { start, attached, refused, server } = await setUp()
    const id = await start({ command: 'sleep' })
    const browser = await attached(id, '', {
      key: null,
      protocols: [attachProtocol, `${attachKeyPrefix}${server.adminKey}`],
    })
    expect(browser.ws.protocol).toBe(attachProtocol)
    expect((await attached(id, '', { protocols: [] })).ws.protocol).toBe('')
    const keyProtocol = `${attachKeyPrefix}${server.adminKey}`
    for (const [how, code] of [
      [{ key: null }, 'unauthenticated'],
      [{ key: 'holt_wrong' }, 'unauthenticated'],
      [{ key: null, protocols: [attachProtocol, `${attachKeyPrefix}wrong`] }, 'unauthenticated'],
      [{ protocols: [attachProtocol, keyProtocol] }, 'invalid_request'],
      [{ key: null, protocols: [attachProtocol, keyProtocol, `${attachKeyPrefix}other`] }, 'invalid_request'],
      [{ key: null, protocols: [keyProtocol] }, 'invalid_request'],
      [{ protocols: ['chat'] }, 'invalid_request'],
      [{ options: { protocolVersion: 8 } }, 'invalid_request'],
    ] as const) {
      const answer = await refused(id, '', how)
      expect([how, answer.json.error.code]).toEqual([how, code])
      expect(answer.json.error.request_id).toMatch(/^rq[a-z0-9]{20}$/)
    }
  })

  test('refuses with the error that the route has, as JSON', async () => {
    const { start, refused, makeKey, ask, commands } = await setUp()
    const id = await start({ command: 'sleep' })
    const reader = (await makeKey('runtime:read')).key
    const writer = (await makeKey('runtime:write')).key
    for (const [commandId, query, how, status, code] of [
      [id, '?write=true', { key: reader }, 403, 'forbidden'],
      [id, '?takeover=1', { key: reader }, 403, 'forbidden'],
      [id, '', { key: writer }, 403, 'forbidden'],
      [`cm${'a'.repeat(20)}`, '', {}, 404, 'command_not_found'],
      ['x%2fy', '', {}, 404, 'command_not_found'],
      ['%ff', '', {}, 400, 'invalid_request'],
      [id, '?cursor=-1', {}, 400, 'invalid_request'],
      [id, '?cursor=1', {}, 400, 'invalid_request'],
      [id, '?window=1', {}, 400, 'invalid_request'],
      [id, '?client=%00', {}, 400, 'invalid_request'],
      [id, '?key=x', {}, 400, 'invalid_request'],
    ] as const) {
      const answer = await refused(commandId, query, how)
      expect([query, answer.status, answer.json.error.code]).toEqual([query, status, code])
      const plain = await ask('GET', `${commands}/${commandId}/attach${query}`, how)
      expect([query, plain.status, plain.json.error.code]).toEqual([query, status, code])
    }
  })

  test('that is invalid gets the reason', async () => {
    const { start, ask, commands } = await setUp()
    const answer = await ask('GET', `${commands}/${await start({ command: 'sleep' })}/attach`)
    expect([answer.status, answer.json.error.code, answer.headers.get('upgrade')]).toEqual([
      426,
      'upgrade_required',
      'websocket',
    ])
  })
})

test('any input of a client leaves the service working and gets a documented close code', async () => {
  const { start, attached, ask, logged, commands } = await setUp()
  let id = await start({ command: 'cat', pty: size })
  const frame = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string({ unit: 'binary' }),
    fc.json(),
    arbitraryOf(AttachClientFrame).map((value) => JSON.stringify(value)),
    fc.constantFrom(
      '{"type":"eof"}',
      '{"type":"write","takeover":true}',
      '{"type":"watch"}',
      '{"type":"taken","cursor":1e15}',
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { maxLength: 20 }), async (frames) => {
      if ((await ask('GET', `${commands}/${id}`)).json.state === 'exited')
        id = await start({ command: 'cat', pty: size })
      const one = await attached(id, '?write=true&takeover=true')
      for (const data of frames) one.ws.send(data)
      one.ws.close()
      expect([1000, 1005, 1008]).toContain((await one.closed).code)
    }),
    { numRuns: 60 },
  )
  expect(logged.filter(({ level }) => level === 'error')).toEqual([])
  expect((await ask('GET', '/healthz')).status).toBe(200)
})
