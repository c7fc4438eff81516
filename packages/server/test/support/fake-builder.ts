import type { BuildHost, BuildRequest, BuildResult, BuildSettings } from '@holt/builder'
import { GuestClient } from '@holt/guest-client'
import type { Builder, SourceParts } from '../../src/builds/builder.ts'
import type { TestServer } from './start-test-server.ts'

/** A build as the builder sees it. */
export interface FakeRun {
  readonly request: BuildRequest
  readonly host: BuildHost
  readonly signal: AbortSignal
  /** The arguments with which its sources were made. */
  readonly parts: SourceParts
}

/** The behaviour of a build in a test. Its answer is laid over a plain result. */
export type Script = (run: FakeRun) => Promise<Partial<BuildResult> | undefined>

const settings: BuildSettings = {
  env: { PATH: '/app/bin', HOME: '/root', GREETING: 'hello' },
  user: 'app',
  workdir: '/app',
  shell: ['/bin/sh', '-c'],
  labels: { team: 'red' },
  ports: ['8080/tcp'],
  onBuild: [],
}

/** A builder that does what the test says, and by itself makes an image of the request's source. */
export class FakeBuilder implements Builder {
  readonly runs: FakeRun[] = []
  script: Script = async () => undefined
  #parts: SourceParts | null = null

  readonly run: Builder['run'] = async (request, host, signal) => {
    if (this.#parts === null) throw new Error('no sources were made')
    const run = { request, host, signal, parts: this.#parts }
    this.runs.push(run)
    const more = (await this.script(run)) ?? {}
    signal.throwIfAborted()
    const image = more.imageDigest ?? (await importImage(host, JSON.stringify(request.source)))
    return {
      imageDigest: image,
      sizeBytes: 123,
      checkpoint: null,
      settings: {
        env: { GREETING: 'hello' },
        user: settings.user,
        workdir: settings.workdir,
        labels: settings.labels,
        ports: settings.ports,
      },
      buildSettings: settings,
      source: 'a test',
      ignored: [{ instruction: 'CMD', line: 3, reason: 'a runtime has no entry point' }],
      warnings: ['a warning'],
      ...more,
    }
  }

  sources(parts: SourceParts) {
    this.#parts = parts
    const nothing = () => Promise.reject(new Error('nothing is outside'))
    return { images: { resolve: nothing, ensure: nothing }, fetch: nothing }
  }
}

/** Writes an image of a text, and answers its digest. */
export async function importImage(host: Pick<BuildHost, 'engine'>, text: string) {
  const tar = (async function* () {
    yield Buffer.from(text)
  })()
  const image = await host.engine.ability('images')?.import(tar, AbortSignal.timeout(5000))
  if (image === undefined) throw new Error('no images')
  return image.digest
}

/**
 * Runs a runtime of a build, as a step would where no size is given: it stays until it is disposed
 * of.
 */
export async function startStep(
  host: BuildHost,
  imageDigest: Awaited<ReturnType<typeof importImage>>,
  {
    cpu = 1,
    memoryMiB = host.stepSize.memoryMiB,
    diskMiB = 1024,
  }: Partial<Pick<BuildRequest, 'cpu' | 'memoryMiB' | 'diskMiB'>> = {},
) {
  const runtime = await host.newRuntime()
  const signal = AbortSignal.timeout(10_000)
  await host.engine.ensure(
    {
      id: runtime.id,
      isolation: host.isolation,
      imageDigest,
      cpu,
      memoryMiB,
      diskMiB,
      pidsMax: 1024,
      checkpointId: null,
    },
    signal,
  )
  const guest = new GuestClient(await host.engine.dial(runtime.id, signal))
  return { runtime, guest }
}

/** Waits until something holds. */
export async function until<Value>(
  look: () => Promise<Value | null | undefined | false> | Value | null | undefined | false,
): Promise<Value> {
  const deadline = Date.now() + 25_000
  for (;;) {
    const value = await look()
    if (value !== null && value !== undefined && value !== false) return value
    if (Date.now() > deadline) throw new Error('it did not come to that')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Waits until a build has ended, and answers it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export async function ended({ ask }: Pick<TestServer, 'ask'>, buildId: string): Promise<any> {
  return until(async () => {
    const { json } = await ask('GET', `/v1/agents/template/build/${buildId}`)
    return json.ended_at === null ? null : json
  })
}
