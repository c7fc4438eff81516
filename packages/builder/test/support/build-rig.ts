import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine, ImageDigest } from '@holt/engine'
import { createHostEngine } from '@holt/engine-host'
import { ImageReader } from '@holt/erofs'
import { type BuildStatus, type BuildStepState, type Ignored, makeId } from '@holt/protocol'
import { builtGuest } from '@holt/testkit'
import { planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import {
  type BaseImages,
  BuildError,
  type BuildHost,
  type BuildRequest,
  type CachedState,
  type ContextArchive,
  type FetchedFile,
  type TemplateBase,
} from '../../src/index.ts'
import { run } from './machine.ts'
import { type Listing, listEntries } from './tree-listing.ts'

/** A real engine for builds, and what a service would keep for them. */
export interface BuildRig extends AsyncDisposable {
  readonly engine: Engine
  readonly dir: string
  /** The service's side of one project: builds of one host share its cache. */
  host(isolation: 'gvisor' | 'container', change?: Partial<BuildHost>): TestBuildHost
  /** Packs a directory of files as an uploaded context. */
  context(files: Readonly<Record<string, string>>): Promise<ContextArchive>
  /** The same of a directory that is there. */
  contextOf(dir: string): Promise<ContextArchive>
  /** Runtimes that the engine has. */
  runtimes(): Promise<string[]>
  /** Returns the content of an image. */
  list(image: ImageDigest): Promise<Listing>
  /** A file of an image as text; null where there is none. */
  text(image: ImageDigest, path: string): Promise<string | null>
}

/** A host whose doings a test can look at. */
export interface TestBuildHost extends BuildHost {
  readonly lines: string[]
  readonly statuses: BuildStatus[]
  steps: readonly BuildStepState[]
  ignored: readonly Ignored[]
  /** Ids of runtimes that were given out. */
  readonly given: string[]
  /** Ids of checkpoints that were given out. */
  readonly checkpoints: string[]
  readonly entries: Map<string, CachedState>
  readonly mounts: Map<string, Buffer>
  readonly templates: Map<string, TemplateBase>
  readonly snapshots: Map<string, TemplateBase>
  readonly addresses: Map<string, Omit<FetchedFile, 'body'> & { readonly text: string }>
}

/** Prepares an engine over directories of its own. */
export async function prepareRig(images: (engine: Engine, dir: string) => Promise<BaseImages>): Promise<BuildRig> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-build-'))
  const guestBinary = await builtGuest()
  const engine = await createHostEngine({
    stateDir: join(dir, 'state'),
    runDir: join(dir, 'run'),
    installationId: `build-${makeId('runtime').slice(2, 12)}`,
    guestBinary,
    spareDisks: 2,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  })
  const bases = await images(engine, dir)
  const workDir = join(dir, 'work')
  await mkdir(workDir)
  let contexts = 0
  const contextOf = async (from: string): Promise<ContextArchive> => {
    const bytes = run(['tar', '--format=pax', '--numeric-owner', '-C', from, '-c', '.'])
    const path = join(dir, `upload-${contexts++}.tar`)
    await writeFile(path, bytes)
    return { path, sha256: createHash('sha256').update(bytes).digest('hex') }
  }
  return {
    engine,
    dir,
    host: (isolation, change = {}) => hostOf(engine, { isolation, workDir, images: bases, ...change }),
    contextOf,
    context: async (files) => {
      const from = await mkdtemp(join(dir, 'files-'))
      for (const [name, text] of Object.entries(files)) {
        await mkdir(join(from, name, '..'), { recursive: true })
        await writeFile(join(from, name), text)
      }
      return contextOf(from)
    },
    runtimes: async () => {
      const found: string[] = []
      for await (const item of engine.observe(AbortSignal.timeout(30_000))) {
        if (item.type === 'present') found.push(item.observed.id)
        else break
      }
      return found
    },
    list: async (image) => {
      await using reader = await openImage(dir, image)
      const root = await reader.find('/')
      if (root === null) throw new Error('an image has a root')
      return await listEntries(reader.entries(root))
    },
    text: async (image, path) => {
      await using reader = await openImage(dir, image)
      const found = await reader.find(path)
      return found === null ? null : Buffer.concat(await Array.fromAsync(reader.content(found))).toString()
    },
    [Symbol.asyncDispose]: async () => {
      await engine.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Returns the path at which the engine keeps an image. */
function fileOf(dir: string, image: ImageDigest): string {
  return join(dir, 'state', 'images', `${image.slice('sha256:'.length)}.erofs`)
}

/** Opens an image that the engine keeps, with the image that it is a delta of. */
export function openImage(dir: string, image: ImageDigest): Promise<ImageReader> {
  const base = fileOf(dir, image).replace(/erofs$/, 'base')
  return ImageReader.open(fileOf(dir, image), existsSync(base) ? base : null)
}

function quiet(): void {
  // No test needs the engine's log.
}

function hostOf(
  engine: Engine,
  change: Pick<BuildHost, 'isolation' | 'workDir' | 'images'> & Partial<BuildHost>,
): TestBuildHost {
  const lines: string[] = []
  const statuses: BuildStatus[] = []
  const given: string[] = []
  const checkpoints: string[] = []
  const entries = new Map<string, CachedState>()
  const mounts = new Map<string, Buffer>()
  const templates = new Map<string, TemplateBase>()
  const snapshots = new Map<string, TemplateBase>()
  const addresses: TestBuildHost['addresses'] = new Map()
  const host: TestBuildHost = {
    engine,
    stepSize: { cpu: 2, memoryMiB: 512 },
    ...{
      lines,
      statuses,
      steps: [],
      ignored: [],
      given,
      checkpoints,
      entries,
      mounts,
      templates,
      snapshots,
      addresses,
    },
    cache: {
      get: async (key) => entries.get(key) ?? null,
      put: async (key, state) => void entries.set(key, state),
      openMount: async (id) => ({
        read: () => {
          const held = mounts.get(id)
          return held === undefined ? null : chunksOf(held)
        },
        write: async (tar) => void mounts.set(id, Buffer.concat(await Array.fromAsync(tar))),
        [Symbol.asyncDispose]: async () => {},
      }),
    },
    planDockerfile: async (text, options) => planDockerfile(text, options),
    findTemplate: async (reference) => {
      const found = templates.get(reference)
      if (found === undefined) throw new BuildError('image_not_found', `There is no template ${reference}.`)
      return found
    },
    findSnapshot: async (reference) => {
      const found = snapshots.get(reference)
      if (found === undefined) throw new BuildError('image_not_found', `There is no snapshot ${reference}.`)
      return found
    },
    fetch: async (url) => {
      const found = addresses.get(url)
      if (found === undefined) throw new BuildError('step_failed', `${url} cannot be fetched.`)
      return { ...found, body: chunksOf(Buffer.from(found.text)) }
    },
    newRuntime: async () => {
      const id = makeId('runtime')
      given.push(id)
      return {
        id,
        openNetwork: async () => null,
        [Symbol.asyncDispose]: () => engine.remove(id, AbortSignal.timeout(30_000)),
      }
    },
    newCheckpointId: async () => {
      const id = `cp${makeId('runtime').slice(2)}`
      checkpoints.push(id)
      return id
    },
    report: {
      status: (status) => statuses.push(status),
      steps: (steps) => {
        host.steps = steps
      },
      ignored: (ignored) => {
        host.ignored = ignored
      },
      log: ({ message }) => lines.push(message),
    },
    ...change,
  }
  return host
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** A request with everything at its default. */
export function requestOf(text: string, change: Partial<BuildRequest> = {}): BuildRequest {
  return {
    buildId: makeId('build'),
    source: { type: 'dockerfile', text, target: null },
    buildArgs: {},
    buildSecrets: {},
    registryAuth: null,
    context: null,
    noCache: false,
    cpu: 1,
    memoryMiB: 512,
    diskMiB: 1024,
    startCmd: null,
    readyCmd: null,
    readyTimeoutMs: 60_000,
    timeoutMs: 120_000,
    env: {},
    user: null,
    workdir: null,
    policyKey: 'none',
    ...change,
  }
}
