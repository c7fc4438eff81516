import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ArtifactRef, Engine, ImageDigest, RuntimeSpec, Transfer } from '@holt/engine'
import { FakeEngine } from '@holt/engine-testkit/fake'
import { GuestClient } from '@holt/guest-client'
import { makeId } from '@holt/protocol'
import { Registry } from 'prom-client'
import { ArtifactFetcher, type FetcherOptions } from '../../src/fleet/artifacts/artifact-fetcher.ts'
import { Absent, type ArtifactSource } from '../../src/fleet/artifacts/artifact-source.ts'
import { FetchMetrics } from '../../src/fleet/artifacts/fetch-metrics.ts'
import { keepingLog } from './start-test-server.ts'
import { never } from './test-hosts.ts'

/** The behaviour of a source that has an artifact, or says so. */
export type Behaviour =
  | 'honest'
  | 'absent'
  | 'slow'
  | 'unreachable'
  | 'busy at first'
  | 'cuts often'
  | 'cuts always'
  | 'stalls'
  | 'lies in bytes'
  | 'lies in sizes'
  | 'lies in digests'
  | 'sends more'

/** The bytes of a piece of a source. */
const pieceBytes = 10_000

/** Returns the ability of an engine. */
export function transferOf(engine: Pick<Engine, 'ability'>): Transfer {
  const transfer = engine.ability('transfer')
  if (transfer === null) throw new Error('the engine has no transfers')
  return transfer
}

/** Makes an engine with an image of random bytes. */
export async function engineWithImage(bytes: number) {
  const engine = new FakeEngine()
  const content = randomBytes(bytes)
  const tar = (async function* () {
    yield content
  })()
  const info = await engine.ability('images')?.import(tar, never)
  const ref = { kind: 'image', id: info?.digest as ImageDigest } as const
  return { engine, content, ref }
}

/** Takes a checkpoint of a new runtime of an engine. */
export async function takeCheckpoint(engine: Engine, imageDigest: ImageDigest): Promise<ArtifactRef> {
  const size = { cpu: 1, memoryMiB: 256, diskMiB: 256, pidsMax: 64 } as const
  const spec: RuntimeSpec = { id: makeId('runtime'), isolation: 'gvisor', imageDigest, ...size, checkpointId: null }
  await engine.ensure(spec, never)
  await new GuestClient(await engine.dial(spec.id, never)).quiesce(never)
  const checkpointId = `cp${spec.id}`
  await engine.ability('checkpoints')?.take(spec.id, checkpointId, never)
  return { kind: 'checkpoint', id: checkpointId }
}

/** Returns a source over an engine that has the artifact. */
export function sourceOf(
  engine: Engine,
  behaviour: Behaviour,
  { name = behaviour, type = 'peer' }: { readonly name?: string; readonly type?: ArtifactSource['type'] } = {},
): ArtifactSource & { readonly reads: readonly number[] } {
  const reads: number[] = []
  return {
    name,
    type,
    reads,
    describe: async (ref) => {
      if (behaviour === 'unreachable') throw new Error('it cannot be reached')
      if (behaviour === 'absent') return null
      const right = await transferOf(engine).describe(ref)
      const files = right.files.map((file) => {
        if (behaviour === 'lies in sizes') return { ...file, sizeBytes: file.sizeBytes + 1 }
        if (behaviour === 'lies in digests') return { ...file, digest: `sha256:${'0'.repeat(64)}` as const }
        return file
      })
      return { ...right, files }
    },
    read: async function* (ref, file, offset, signal) {
      reads.push(offset)
      if (behaviour === 'unreachable') throw new Error('it cannot be reached')
      if (behaviour === 'absent') throw new Absent('it is not here')
      if (behaviour === 'cuts always') throw new Error('it was cut')
      if (behaviour === 'busy at first' && reads.length < 3) throw new Error('it is busy')
      const { sizeBytes = 0 } =
        (await transferOf(engine).describe(ref)).files.find(({ name }) => name === file.name) ?? {}
      for (let at = offset; at < sizeBytes; at += pieceBytes) {
        const length = Math.min(pieceBytes, sizeBytes - at)
        const piece = Buffer.concat(
          await Array.fromAsync(await transferOf(engine).read(ref, file.name, { offset: at, length }, signal)),
        )
        if (behaviour === 'cuts often' && at > offset + 5 * pieceBytes) throw new Error('it was cut')
        if (behaviour === 'stalls' && at > offset) await ended(signal)
        if (behaviour === 'slow') await sleep(1)
        if (behaviour === 'lies in bytes' && at === offset) piece[0] = (piece[0] ?? 0) ^ 1
        yield piece
      }
      if (behaviour === 'sends more') yield Buffer.alloc(pieceBytes)
    },
  }
}

/** Returns a fetcher for a new engine, with short times. */
export function fetcherTo(engine: FakeEngine, sources: FetcherOptions['sourcesOf'] | readonly ArtifactSource[]) {
  const { log, logged } = keepingLog()
  const registry = new Registry()
  const fetcher = new ArtifactFetcher({
    engine,
    log,
    metrics: new FetchMetrics(registry),
    times: { stallMs: 100, leastBytes: 1, retryMs: 1 },
    sourcesOf: typeof sources === 'function' ? sources : () => sources,
  })
  return { fetcher, logged, registry }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve())
  })
}
