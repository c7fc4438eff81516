import { setTimeout as sleep } from 'node:timers/promises'
import { Command, CommandResult, EventPage, FileInfo, pageOf, Runtime, Upload, WatchItem } from '@holt/protocol'
import { byLength, oneIn } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, failure, runtimesPath, success } from './support/api.ts'
import { TestAttachment } from './support/attach.ts'
import { service } from './support/facts.ts'
import { followItems } from './support/follow-items.ts'
import { cgroupsOf, processesOf } from './support/host.ts'
import { checkpoints, withoutRoom } from './support/host-disk.ts'
import { listBelongings } from './support/leaks.ts'
import { LivingProcess } from './support/lifecycle/living-process.ts'
import { appeared, nothingLeft, settled } from './support/lifecycle/states.ts'
import { Ticker } from './support/lifecycle/ticker.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'
import { visit } from './support/visit.ts'

// A pause stores the whole runtime and frees its resources. Programs inside notice only the clock
// afterwards.

const withoutGvisor = service.unavailable.gvisor !== null && !process.env.CI

/** A short run has half of the tests that take seconds. */
const sometimes = oneIn(2, 'pauses', it)

/** How often a runtime is paused and resumed. */
const rounds = byLength({ short: 8, long: 20, soak: 20 })

describe.skipIf(withoutGvisor)(`a runtime that is paused and resumed ${rounds} times`, () => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ env: { KEPT: 'yes' }, metadata: { of: 'pause' } })
  })
  afterAll(() => runtime?.delete())

  it('has lost nothing: files, processes, timers, sessions, background commands and their output', async () => {
    const living = await LivingProcess.start(runtime, 16)
    const first = await living.look()
    const ticker = await Ticker.start(runtime)
    const followed = ticker.follow()
    await runtime.run('cd /srv; export LEFT=there', { session: 'kept', user: 'root' })
    await runtime.sh('mkdir /srv/rounds')
    let last = first
    for (let round = 1; round <= rounds; round += 1) {
      await runtime.sh(`head -c 65536 /dev/urandom > /srv/rounds/${round}; cd /srv/rounds; sha256sum * > /srv/sums`)
      await followed.reaches(await ticker.count())
      const total = (round * (round + 1)) / 2
      expect((await living.add(round)).total).toBe(total)
      await runtime.pause()
      expect(await runtime.resume()).toMatchObject({ env: { KEPT: 'yes' }, metadata: { of: 'pause' }, paused_at: null })
      const now = await living.look()
      expect(now).toMatchObject({ pid: first.pid, digest: first.digest, total })
      expect(now.ticks).toBeGreaterThan(last.ticks)
      expect(now.monotonic).toBeGreaterThan(last.monotonic)
      last = now
      await runtime.sh('cd /srv/rounds; sha256sum --quiet -c /srv/sums')
    }
    expect(await runtime.sh('ls /srv/rounds | wc -l')).toBe(String(rounds))
    expect((await runtime.run('pwd; echo $LEFT $KEPT', { session: 'kept', user: 'root' })).stdout).toBe(
      '/srv\nthere yes\n',
    )
    const counted = await ticker.countsBeyond(await ticker.count())
    await followed.reaches(counted)
    await followed.stop()
  }, 180_000)
})

describe.skipIf(withoutGvisor)('a paused runtime', () => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ name: 'paused', network_policy: { allow: [{ host: 'db.example.com' }] } })
  })
  afterAll(() => runtime?.delete())

  it('uses nothing of the machine except its checkpoint', async () => {
    await runtime.sh('head -c 32M /dev/urandom > /srv/random; sha256sum /srv/random > /srv/sum')
    await runtime.delete()
    const before = listBelongings(service)
    runtime = await createRuntime()
    await runtime.sh('head -c 32M /dev/urandom > /srv/random; sha256sum /srv/random > /srv/sum')
    const { paused_at, started_at } = await runtime.pause()
    expect(Date.parse(`${paused_at}`)).toBeGreaterThanOrEqual(Date.parse(`${started_at}`))
    expect(processesOf(runtime.id)).toEqual([])
    expect(cgroupsOf(runtime.id)).toEqual([])
    expect(appeared(before)).toEqual([expect.stringMatching(/^file checkpoints\//)])
    await runtime.resume()
    await runtime.sh('sha256sum --quiet -c /srv/sum')
    await until('the checkpoint is gone', async () => !appeared(before).some((line) => line.includes('checkpoints/')))
  })

  it('is resumed by requests inside it, and by nothing else', async () => {
    const paused = async () => expect((await runtime.refresh()).state).toBe('paused')
    await runtime.pause()
    await paused()
    success(await call('GET', runtimesPath, { query: { state: 'paused' } }), 200, pageOf(Runtime))
    success(await call('PATCH', runtime.path, { json: { metadata: { seen: 'asleep' } } }), 200, Runtime)
    await runtime.call('GET', '/network')
    await paused()

    const put = { query: { path: '/srv/woken' }, body: 'woken' }
    await runtime.call('GET', '/network')
    success(await runtime.call('PUT', '/files/content', put), 201, FileInfo)
    expect(await runtime.refresh()).toMatchObject({ state: 'running', metadata: { seen: 'asleep' } })
    await runtime.pause()
    expect((await runtime.run('cat /srv/woken')).stdout).toBe('woken')
    await runtime.pause()
    expect((await runtime.call('GET', '/files/content', { query: { path: '/srv/woken' } })).text).toBe('woken')
    await runtime.pause()
    expect((await runtime.call('GET', '/commands')).status).toBe(200)
    expect((await runtime.refresh()).state).toBe('running')
  })

  it('is resumed by a request to one of its ports', async () => {
    const server =
      'import http.server,json\nclass H(http.server.BaseHTTPRequestHandler):\n def do_GET(self):\n  self.send_response(200); self.end_headers(); self.wfile.write(b"[1]")\nhttp.server.ThreadingHTTPServer(("",8000),H).serve_forever()'
    const json = { argv: ['python', '-c', server], background: true }
    success(await runtime.call('POST', '/commands', { json }), 201, Command)
    await runtime.call('GET', '/ports/8000', { query: { wait_secs: 20 } })
    expect(await visit(runtime, 8000, '/')).toEqual([1])
    await runtime.pause()
    expect(await visit(runtime, 8000, '/')).toEqual([1])
  })

  it('is resumed once by many requests at once, and each is answered', async () => {
    await runtime.pause()
    const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => runtime.run(`echo ${index}`)))
    expect(answers.map(({ stdout }) => stdout)).toEqual(answers.map((_, index) => `${index}\n`))
  })

  it('stays paused without auto_resume, and says so', async () => {
    success(await call('PATCH', runtime.path, { json: { auto_resume: false } }), 200, Runtime)
    await runtime.pause()
    failure(await runtime.call('POST', '/commands', { json: { command: 'true' } }), 'runtime_paused')
    failure(await runtime.call('GET', '/files/content', { query: { path: '/etc/passwd' } }), 'runtime_paused')
    expect((await runtime.refresh()).state).toBe('paused')
    success(await call('PATCH', runtime.path, { json: { auto_resume: true } }), 200, Runtime)
    expect((await runtime.run('echo on')).stdout).toBe('on\n')
  })

  it('has the same result for one call and for many at once', async () => {
    const all = (what: '/pause' | '/resume') => Promise.all([1, 2, 3, 4].map(() => runtime.call('POST', what)))
    for (const answer of await all('/pause')) expect(success(answer, 200, Runtime).state).toBe('paused')
    expect((await runtime.pause()).state).toBe('paused')
    for (const answer of await all('/resume')) expect(success(answer, 200, Runtime).state).toBe('running')
    expect((await runtime.resume()).state).toBe('running')
  })

  sometimes('is never left half done by concurrent pauses, resumes and commands', async () => {
    const ticker = await Ticker.start(runtime)
    for (let round = 0; round < 3; round += 1) {
      const whats = ['/pause', '/resume', '/pause', '/resume'] as const
      const changes = whats.map(async (what, index) => {
        await sleep(index * 40)
        const { status, text } = await runtime.call('POST', what)
        expect([200, 409], text).toContain(status)
      })
      const commands = [0, 1, 2].map(async (index) =>
        expect((await runtime.run(`echo ${index}`)).stdout).toBe(`${index}\n`),
      )
      await Promise.all([...changes, ...commands])
    }
    expect(['running', 'paused']).toContain((await settled(runtime)).state)
    await ticker.countsBeyond(await ticker.count())
  })

  sometimes('is deleted at once, even during a pause or resume', async () => {
    for (const [first, afterMs] of [
      ['/pause', 30],
      ['/pause', 120],
      ['/resume', 30],
      ['/resume', 90],
    ] as const) {
      const before = listBelongings(service)
      const other = await createRuntime()
      if (first === '/resume') await other.pause()
      const changing = other.call('POST', first)
      await sleep(afterMs) // Each falls into another step: that is the point of the pause, not a hope.
      await other.delete()
      const { status, text } = await changing
      expect([200, 409, 410], text).toContain(status)
      expect((await other.refresh()).state).toBe('terminated')
      failure(await other.call('POST', '/resume'), 'runtime_terminated')
      await nothingLeft(before)
    }
  })

  it('keeps its name and its place in the list until it is deleted', async () => {
    const named = await createRuntime({ name: 'asleep' })
    await named.pause()
    failure(await call('POST', runtimesPath, { json: { name: 'asleep' } }), 'name_taken')
    await named.delete()
    await using again = await createRuntime({ name: 'asleep' })
    expect(again.data.state).toBe('running')
  })
})

describe.skipIf(withoutGvisor)('work in progress over a pause', () => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({
      network_policy: { allow: [{ host: 'db.example.com', ports: [5432], protocol: 'tcp' }] },
    })
  })
  afterAll(() => runtime?.delete())

  const nap = async (secs = 0) => {
    await runtime.pause()
    await sleep(secs * 1000)
    await runtime.resume()
  }

  sometimes('a waited-for command answers as without a pause', async () => {
    const command = 'for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.2; done; exit 7'
    const answered = runtime.call('POST', '/commands', { json: { command } })
    const [answer] = await Promise.all([answered, sleep(300).then(() => nap())])
    const { stdout, exit_code } = success(answer, 200, CommandResult)
    expect({ stdout, exit_code }).toEqual({ stdout: '1\n2\n3\n4\n5\n6\n7\n8\n', exit_code: 7 })
  })

  sometimes(
    'a stream loses and repeats nothing of a flood',
    async () => {
      const lines = 400_000
      const answer = runtime.call('POST', '/commands', {
        json: { command: `seq ${lines}`, timeout_secs: 100 },
        headers: { accept: 'application/x-ndjson' },
        timeoutMs: 120_000,
      })
      const naps = async () => {
        for (const afterMs of [20, 150]) {
          await sleep(afterMs)
          await nap()
        }
      }
      const [{ text }] = await Promise.all([answer, naps()])
      const output = text
        .split('\n')
        .filter((line) => line.includes('"stdout"'))
        .map((line) => (JSON.parse(line) as { data: string }).data)
        .join('')
      expect(output === Array.from({ length: lines }, (_, index) => `${index + 1}\n`).join('')).toBe(true)
      expect(text).toContain('"exit_code":0')
    },
    150_000,
  )

  sometimes('paused time does not count in the timeout of a command', async () => {
    const command = 'sleep 2; echo slept'
    const json = { command, timeout_secs: 4, background: true }
    const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    await nap(5)
    const ended = await until('it has ended', async () => {
      const now = success(await runtime.call('GET', `/commands/${command_id}`), 200, Command)
      return now.state === 'exited' ? now : null
    })
    expect(ended).toMatchObject({ exit_code: 0, timed_out: false })
  })

  sometimes('the timeout of a long command takes effect after the pause', async () => {
    const json = { command: 'sleep 600', timeout_secs: 3, background: true }
    const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    await nap()
    const ended = await until('it has ended', async () => {
      const now = success(await runtime.call('GET', `/commands/${command_id}`), 200, Command)
      return now.state === 'exited' ? now : null
    })
    expect(ended.timed_out).toBe(true)
  })

  sometimes('the clock is correct afterwards, and so are reported times', async () => {
    const seconds = async () => Number(await runtime.sh('date +%s.%N'))
    await nap(3)
    const [before, inside, after] = [Date.now() / 1000, await seconds(), Date.now() / 1000]
    expect(inside).toBeGreaterThan(before - 0.5)
    expect(inside).toBeLessThan(after + 0.5)
    const { ended_at } = await runtime.run('true')
    expect(Math.abs(Date.parse(`${ended_at}`) / 1000 - after)).toBeLessThan(10)
  })

  it('a terminal keeps its text and continues', async () => {
    const json = { command: 'stty -echo; echo ready; cat', pty: { cols: 80, rows: 24 }, background: true }
    const { command_id } = success(await runtime.call('POST', '/commands', { json }), 201, Command)
    const path = `${runtime.path}/commands/${command_id}`
    using before = new TestAttachment(path, { write: true, client: 'attached-over-a-pause' })
    await until('it is attached', async () => before.text === 'ready\r\n')
    before.type('first\r')
    await until('it is shown', async () => before.text === 'ready\r\nfirst\r\n')
    await nap()
    using after = new TestAttachment(path, { cursor: before.cursor, write: true, client: 'attached-over-a-pause' })
    after.type('second\r')
    await until('it is shown', async () => after.text.endsWith('second\r\n'))
    expect(after.text).toBe('second\r\n')
    after.say({ type: 'eof' })
    expect(await after.closed).toBe(1000)
    expect(after.last('exit')).toMatchObject({ exit_code: 0 })
  })

  it('a watch reports later changes', async () => {
    await runtime.sh('mkdir /srv/watched')
    for await (const item of followItems(runtime, { path: '/files/watch?path=/srv/watched', item: WatchItem })) {
      if (item.type === 'start') {
        await nap()
        await runtime.sh(': > /srv/watched/new')
      }
      if (item.type === 'created' && item.path === '/srv/watched/new') break
    }
  })

  it('an upload in parts can be continued', async () => {
    const upload = { path: '/srv/parts', upload_id: 'over-a-pause' }
    const first = { query: { ...upload, offset: 0, partial: true }, body: 'first ' }
    success(await runtime.call('PUT', '/files/content', first), 202, Upload)
    await nap()
    const second = { query: { ...upload, offset: 6 }, body: 'second' }
    success(await runtime.call('PUT', '/files/content', second), 201, FileInfo)
    expect(await runtime.sh('cat /srv/parts')).toBe('first second')
  })

  it('outbound connections are closed, and new ones can be made', async () => {
    const living = await LivingProcess.start(runtime)
    expect(await living.connect('db.example.com', 5432)).toBe('connected')
    expect(await living.exchange('before')).toEqual({ end: 'end', received: 'before' })
    await nap()
    expect((await living.exchange('after')).received ?? '').not.toBe('after')
    expect(await living.connect('db.example.com', 5432)).toBe('connected')
    expect(await living.exchange('again')).toEqual({ end: 'end', received: 'again' })
  })
})

describe.skipIf(withoutGvisor)('an attachment', () => {
  let runtime: TestRuntime
  let terminals: readonly string[]
  beforeAll(async () => {
    runtime = await createRuntime()
    const json = { command: 'stty -echo; echo ready; cat', pty: { cols: 80, rows: 24 }, background: true }
    const started = [0, 1].map(() => runtime.call('POST', '/commands', { json }))
    const commands = (await Promise.all(started)).map((answer) => success(answer, 201, Command))
    terminals = commands.map(({ command_id }) => `${runtime.path}/commands/${command_id}`)
  })
  afterAll(() => runtime?.delete())

  /** How often it has been brought back. */
  const resumes = async () => {
    const query = { subject: runtime.id, type: 'runtime.resuming', limit: 100 }
    return success(await call('GET', '/v1/agents/event', { query }), 200, EventPage).data.length
  }
  const shows = (attachments: readonly TestAttachment[], text: string) =>
    until(`it shows ${text}`, async () => attachments.every((one) => one.text.endsWith(text)), 60_000)
  const paused = async () => expect((await runtime.refresh()).state).toBe('paused')

  it('resumes a paused runtime, and many at once resume it once', async () => {
    const before = await resumes()
    await runtime.pause()
    const attachments = [0, 1, 2, 3, 4, 5].map(
      (index) => new TestAttachment(`${terminals[index % 2]}`, { write: true }),
    )
    try {
      await shows(attachments, 'ready\r\n')
      expect(await resumes()).toBe(before + 1)
      for (const one of attachments.slice(0, 2)) one.say({ type: 'write', takeover: true })
      for (const one of attachments.slice(0, 2)) one.type('woken\r')
      await shows(attachments, 'ready\r\nwoken\r\n')
    } finally {
      for (const one of attachments) one.close()
    }
  })

  it('that is open over a pause resumes it only with input, once for several writers', async () => {
    const before = await resumes()
    using one = new TestAttachment(`${terminals[0]}`, { write: true, takeover: true })
    using other = new TestAttachment(`${terminals[1]}`, { write: true, takeover: true })
    using watcher = new TestAttachment(`${terminals[0]}`)
    await shows([one, other, watcher], 'woken\r\n')
    for (let round = 1; round <= 3; round += 1) {
      await runtime.pause()
      await sleep(1500) // That nothing wakes it takes a while to see.
      await paused()
      expect(await resumes()).toBe(before + round - 1)
      for (const writer of [one, other]) writer.type(`round ${round}\r`)
      await shows([one, other, watcher], `round ${round}\r\n`)
      expect(await resumes()).toBe(before + round)
    }
    const rounds = 'ready\r\nwoken\r\nround 1\r\nround 2\r\nround 3\r\n'
    for (const { text } of [one, other, watcher]) expect(text).toBe(rounds)
  })

  it('is refused without auto_resume, and input of an open one is refused', async () => {
    const before = await resumes()
    using open = new TestAttachment(`${terminals[0]}`, { write: true, takeover: true })
    await shows([open], 'round 3\r\n')
    success(await call('PATCH', runtime.path, { json: { auto_resume: false } }), 200, Runtime)
    await runtime.pause()
    using refused = new TestAttachment(`${terminals[0]}`, { write: true })
    expect(await refused.closed).toBe(1006)
    open.type('nobody hears this\r')
    await until('it is told', async () => open.last('error')?.code === 'runtime_paused')
    await paused()
    expect(await resumes()).toBe(before)
    await runtime.resume()
    open.type('heard\r')
    await shows([open], 'round 3\r\nheard\r\n')
  })
})

describe.skipIf(withoutGvisor)('with a full disk of the service', () => {
  it('no checkpoint is written, the runtime continues, and a pause works when there is room', async () => {
    await using runtime = await createRuntime({ network_policy: { allow: [{ host: 'db.example.com' }] } })
    const living = await LivingProcess.start(runtime, 16)
    const ticker = await Ticker.start(runtime)
    const followed = ticker.follow()
    await withoutRoom(async () => {
      for (const what of ['pause', 'snapshot', 'fork']) {
        failure(await runtime.call('POST', `/${what}`, what === 'pause' ? {} : { json: {} }), 'disk_full')
        expect((await runtime.refresh()).state).toBe('running')
        expect((await living.add(1)).orders).toBeGreaterThan(0)
        await followed.reaches(await ticker.countsBeyond(followed.count))
      }
      expect(checkpoints()).toEqual([])
    })
    await runtime.pause()
    expect((await living.add(1)).total).toBe(4)
    await followed.reaches(await ticker.countsBeyond(followed.count))
    await followed.stop()
    expect(await runtime.sh('getent hosts db.example.com')).toContain('db.example.com')
  })
})

describe('a runtime that cannot be paused', () => {
  it.skipIf(service.unavailable.container !== null && !process.env.CI)(
    'is reported in the class container, even at its create',
    async () => {
      await using runtime = await createRuntime({ isolation: 'container' })
      expect(runtime.data).toMatchObject({ timeout_secs: null, on_timeout: 'terminate', expires_at: null })
      failure(await runtime.call('POST', '/pause'), 'not_supported_here')
      for (const json of [{ on_timeout: 'pause', timeout_secs: 60 }, { idle_timeout_secs: 60 }]) {
        failure(await call('POST', runtimesPath, { json: { isolation: 'container', ...json } }), 'unsupported_setting')
        failure(await call('PATCH', runtime.path, { json }), 'unsupported_setting')
      }
      expect((await runtime.run('echo on')).stdout).toBe('on\n')
    },
  )

  it.skipIf(withoutGvisor)('is reported with the value of a secret inside', async () => {
    const secret = { name: 'inside-of-pause', value: 'a-value-that-stays-in-memory', env: true, env_name: 'INSIDE' }
    expect((await call('POST', '/v1/agents/secret', { json: secret })).status).toBe(201)
    try {
      await using runtime = await createRuntime({ secrets: [secret.name] })
      expect(runtime.data).toMatchObject({ secrets_inside: true, on_timeout: 'terminate', timeout_secs: null })
      failure(await runtime.call('POST', '/pause'), 'conflict')
      expect(await runtime.sh('echo $INSIDE')).toBe(secret.value)
    } finally {
      await call('DELETE', `/v1/agents/secret/${secret.name}`)
    }
  })
})
