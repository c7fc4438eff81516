import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { Readable } from 'node:stream'
import { FileInfo, Upload } from '@holt/protocol'
import { type FileSource, Holt, type Runtime } from '@holt/sdk'
import { byLength } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failure, success, wireRequest } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { daemonMemory, forgetPeakMemory } from './support/host.ts'
import { open, send } from './support/http.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const MiB = 2 ** 20
const largeMiB = byLength({ short: 384, long: 1024, soak: 1024 })

/**
 * Much less than a file, or the part of one that is on its way, and more than a collector of
 * garbage leaves behind.
 */
const memoryGrowthMiB = 150

const block = randomBytes(MiB)

/** So many MiB, no two alike, from one of them on. */
function* blocks(from: number, to: number): Generator<Buffer> {
  for (let n = from; n < to; n += 1) {
    const one = Buffer.from(block)
    one.writeUInt32LE(n)
    yield one
  }
}

/** Expects the bytes of so many blocks, and nothing else. */
async function expectBlocks(stream: AsyncIterable<Buffer>, sizeMiB: number): Promise<void> {
  const wanted = blocks(0, sizeMiB)
  let rest = Buffer.alloc(0)
  for await (const chunk of stream) {
    for (let at = 0; at < chunk.length; ) {
      if (rest.length === 0) rest = wanted.next().value ?? Buffer.alloc(0)
      const length = Math.min(rest.length, chunk.length - at)
      if (length === 0 || chunk.compare(rest, 0, length, at, at + length) !== 0)
        throw new Error('other bytes have come')
      rest = rest.subarray(length)
      at += length
    }
  }
  expect([rest.length, wanted.next().done]).toEqual([0, true])
}

function digestOf(sizeMiB: number): Buffer {
  const sum = createHash('sha256')
  for (const one of blocks(0, sizeMiB)) sum.update(one)
  return sum.digest()
}

/** A source of so many MiB that notes from where on it was read. */
function sourceOf(sizeMiB: number, starts: number[]): FileSource {
  return {
    size: sizeMiB * MiB,
    stream: (start) => {
      starts.push(start)
      const first = Math.floor(start / MiB)
      async function* bytes() {
        let skip = start - first * MiB
        for (const one of blocks(first, sizeMiB)) {
          yield one.subarray(skip)
          skip = 0
        }
      }
      return bytes()
    },
  }
}

/**
 * A way to the service that is cut after so many bytes in either direction, as often as there are
 * numbers.
 */
class CuttingWay implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<{ destroy(): void }>()
  readonly cuts: number[] = []

  constructor() {
    this.#server = createServer((near) => {
      const far = connect(service.port, '127.0.0.1')
      let passed = 0
      const cut = () => {
        near.destroy()
        far.destroy()
      }
      const count = (chunk: Buffer) => {
        const [at] = this.cuts
        passed = at === undefined ? 0 : passed + chunk.length
        if (at === undefined || passed < at) return
        this.cuts.shift()
        cut()
      }
      for (const socket of [near, far]) {
        this.#sockets.add(socket)
        socket.on('error', cut).on('close', cut).on('data', count)
      }
      near.pipe(far).pipe(near)
    })
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

describeClasses('large transfers', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation, template: 'base-medium' })
  })
  const target = (path: string) => `${runtime.path}/files/content?path=${path}`

  it(`a file of ${largeMiB} MiB is copied both ways in constant memory`, async () => {
    forgetPeakMemory()
    const before = daemonMemory().nowMiB
    const body = Readable.from(blocks(0, largeMiB), { objectMode: false })
    const sent = await send(service.url, wireRequest('PUT', target('/srv/large'), { body, timeoutMs: 240_000 }))
    expect(success({ ...sent, text: sent.bytes.toString() }, 201, FileInfo).size_bytes).toBe(largeMiB * MiB)
    const message = await open(service.url, wireRequest('GET', target('/srv/large'), { timeoutMs: 240_000 }))
    await expectBlocks(message, largeMiB)
    expect(daemonMemory().peakMiB - before).toBeLessThan(memoryGrowthMiB)
    await runtime.sh('rm /srv/large')
  }, 300_000)

  describe('over broken connections', () => {
    let way: CuttingWay
    let remote: Runtime
    beforeAll(async () => {
      way = new CuttingWay()
      const url = await way.open()
      remote = await new Holt({ url, apiKey: service.key }).runtimes.get(runtime.id)
    })
    afterAll(() => way[Symbol.asyncDispose]())

    it('an upload continues where it broke off', async () => {
      way.cuts.push(9 * MiB, 7 * MiB, 5 * MiB)
      const starts: number[] = []
      const sha256 = digestOf(40).toString('hex')
      const info = await remote.files.write('/srv/sent', sourceOf(40, starts), { sha256, mode: '0640' })
      expect(info).toMatchObject({ size_bytes: 40 * MiB, mode: '0640', user: 'user' })
      expect(way.cuts).toEqual([])
      expect(starts.length).toBeGreaterThan(3)
      expect(starts[0]).toBe(0)
      expect(starts.at(-1)).toBeGreaterThan(12 * MiB)
      expect(await runtime.sh('sha256sum < /srv/sent; ls -A /srv | grep -c holt || true')).toBe(`${sha256}  -\n0`)
    })

    it('a download continues where it broke off', async () => {
      way.cuts.push(9 * MiB, 7 * MiB, 5 * MiB)
      const sum = createHash('sha256')
      for await (const chunk of await remote.files.readNodeStream('/srv/sent')) sum.update(chunk)
      expect(sum.digest('hex')).toBe(digestOf(40).toString('hex'))
      expect(way.cuts).toEqual([])
    })

    it('a download of a file that changes is a conflict', async () => {
      way.cuts.push(9 * MiB)
      const reading = async () => {
        let changed = false
        for await (const _ of await remote.files.readStream('/srv/sent')) {
          if (changed) continue
          changed = true
          await runtime.sh('cp /srv/sent /srv/other; echo more >> /srv/other; mv /srv/other /srv/sent')
        }
      }
      await expect(reading()).rejects.toMatchObject({ code: 'conflict' })
    })
  })

  it('an upload without its client can be continued or aborted', async () => {
    const upload = { path: '/srv/parts', upload_id: 'by-hand-1' }
    const put = (offset: number, body: string) =>
      runtime.call('PUT', '/files/content', { query: { ...upload, offset }, body })
    const status = async () => success(await runtime.call('GET', '/files/upload', { query: upload }), 200, Upload)
    const abort = new AbortController()
    const half = new Readable({ read() {} })
    half.push(Buffer.alloc(3 * MiB, 'a'))
    const request = wireRequest('PUT', `${target('/srv/parts')}&upload_id=by-hand-1`, {
      body: half,
      signal: abort.signal,
    })
    const sending = open(service.url, request).catch(() => null)
    const size = () => runtime.sh('stat -c %s /srv/.holt-upload-by-hand-1 || true')
    await until('some of it has come', async () => Number(await size()) > MiB)
    abort.abort()
    await sending
    const { offset_bytes, completed } = await status()
    expect(offset_bytes).toBeGreaterThan(MiB)
    expect(completed).toBe(false)
    failure(await put(5, 'x'), 'conflict')
    success(await put(offset_bytes, 'the rest'), 201, FileInfo)
    expect(await status()).toMatchObject({ offset_bytes: offset_bytes + 8, completed: true })
    expect(await runtime.sh('tail -c 9 /srv/parts; echo; ls -A /srv | grep -c holt || true')).toBe('athe rest\n0')
    await runtime.call('PUT', '/files/content', {
      query: { path: '/srv/new/x', upload_id: 'by-hand-2', partial: true },
      body: 'x',
    })
    const aborted = await runtime.call('DELETE', '/files/upload', {
      query: { path: '/srv/new/x', upload_id: 'by-hand-2' },
    })
    expect(aborted.status).toBe(204)
    expect(await runtime.sh('test ! -e /srv/new')).toBe('')
  })

  it('bytes that differ from the declared digest leave nothing', async () => {
    const other = `sha-256=:${createHash('sha256').update('other').digest('base64')}:`
    await runtime.sh('rm -rf /srv/d; mkdir /srv/d; echo old > /srv/d/there')
    for (const path of ['/srv/d/there', '/srv/d/new/file']) {
      for (const name of ['content-digest', 'repr-digest']) {
        const answer = await runtime.call('PUT', '/files/content', {
          query: { path },
          body: 'bytes',
          headers: { [name]: other },
        })
        expect(failure(answer, 'digest_mismatch').message).toContain('SHA-256')
      }
    }
    expect(await runtime.sh('cd /srv/d; ls -A; cat there')).toBe('there\nold')
  })
})
