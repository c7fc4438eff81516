import { mkdir, rm } from 'node:fs/promises'
import { BuildError, type BuildHost, type BuildRuntime, type TemplateBase } from '@holt/builder'
import type { EngineFacts, ImageDigest } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { HoltError } from '@holt/protocol'
import { fetchFiles } from '../artifacts/artifacts.ts'
import { aloneWithRow } from '../foundation/store/alone.ts'
import type { TemplateRow } from '../foundation/store/tables.ts'
import { findTemplate, requireReady } from '../resources/templates/find-template.ts'
import { findSnapshot, requireWritten } from '../runtimes/snapshots/find-snapshot.ts'
import { snapshotSettingsOf } from '../runtimes/snapshots/snapshot-settings.ts'
import { openCache } from './build-cache.ts'
import { buildEngine } from './build-engine.ts'
import { BuildNetwork } from './build-network.ts'
import { noteCheckpoint, noteRuntime, releaseResource } from './build-resources.ts'
import type { BuildUnderWay } from './build-under-way.ts'
import type { Builds } from './builds.ts'
import { pulledImages } from './pulled-images.ts'

/**
 * The maximum number of resources of a step, if the host has them. They are equal for all builds of
 * a host, because a checkpoint fits one size only.
 */
const mostOfStep = { cpu: 4, memoryMiB: 4096 }

/**
 * Returns the parts of the service for one build. They are disposed of when the build has ended.
 */
export async function makeBuildHost(service: Builds, build: BuildUnderWay): Promise<BuildHost & AsyncDisposable> {
  const { engine, builds } = service
  const facts = await engine.describe()
  const workDir = builds.paths.workOf(build.buildId)
  await mkdir(workDir, { recursive: true, mode: 0o700 })
  const stepSize = {
    cpu: Math.min(facts.cpus, mostOfStep.cpu),
    memoryMiB: Math.min(Math.floor(facts.memoryMiB / 2), mostOfStep.memoryMiB),
  }
  const held = buildEngine(service, build, { afterStop: 'refused' })
  const network = new BuildNetwork(service, { policy: build.prepared.policy, reporter: build.reporter })
  const cache = openCache(service, build)
  const pulling = buildEngine(service, build, { afterStop: 'taken' })
  const sources = builds.builder.sources({ engine: pulling, workDir, pulled: pulledImages(service, build) })
  return {
    engine: held,
    isolation: isolationOf(facts),
    workDir,
    stepSize,
    images: sources.images,
    fetch: sources.fetch,
    cache,
    planDockerfile: (text, options, signal) => {
      return builds.reader.plan(text, options, { projectId: build.projectId, signal })
    },
    findTemplate: async (reference) => brought(service, build, await findBase(service, build, reference)),
    findSnapshot: async (reference) => brought(service, build, await findFiles(service, build, reference)),
    newRuntime: () => newRuntime(service, build, { network, stepSize }),
    newCheckpointId: async () => {
      build.stop.signal.throwIfAborted()
      await failpoint('build.stepped')
      return noteCheckpoint(service, build.buildId)
    },
    report: build.reporter,
    [Symbol.asyncDispose]: async () => {
      await network.closeAll()
      await rm(workDir, { recursive: true, force: true })
      await failpoint('build.cleared')
    },
  }
}

/**
 * Returns the isolation class of steps. It is gVisor if the host has it, because the code is
 * untrusted.
 */
function isolationOf({ isolation: { gvisor } }: EngineFacts): 'gvisor' | 'container' {
  return gvisor.available ? 'gvisor' : 'container'
}

async function newRuntime(
  service: Builds,
  build: BuildUnderWay,
  { network, stepSize }: { network: BuildNetwork; stepSize: { cpu: number; memoryMiB: number } },
): Promise<BuildRuntime> {
  const { projectId, buildId, prepared, reporter, stop } = build
  const { size } = prepared
  const id = await noteRuntime(service, {
    projectId,
    buildId,
    cpu: Math.max(stepSize.cpu, size.cpu),
    memoryMiB: Math.max(stepSize.memoryMiB, size.memoryMiB),
    diskMiB: size.diskMiB,
    signal: stop.signal,
    onWait: (what) => reporter.logOfStep('warn', `waiting until ${what} for one more runtime`),
  })
  return {
    id,
    openNetwork: async (signal) => {
      await failpoint('build.awake')
      const opened = await network.open(id, signal)
      await failpoint('build.networked')
      return opened
    },
    [Symbol.asyncDispose]: async () => {
      await network.close(id)
      await releaseResource(service, id, 'runtime')
    },
  }
}

/** Fetches the image that a build starts from, if another host has made it. */
async function brought({ artifacts }: Builds, { stop }: BuildUnderWay, base: TemplateBase): Promise<TemplateBase> {
  await fetchFiles(artifacts, { imageDigest: base.imageDigest, checkpointId: null }, stop.signal)
  return base
}

/** Returns the base template of a build, held for the build. */
async function findBase(service: Builds, build: BuildUnderWay, reference: string): Promise<TemplateBase> {
  const { projectId, buildId } = build
  try {
    return await service.store.change(aloneWithRow, async (changes) => {
      const row = await findTemplate({ store: { db: changes } }, { projectId, reference })
      const imageDigest = requireReady(service, row) as ImageDigest
      service.holds.hold(buildId, imageDigest)
      return { reference, imageDigest, settings: settingsOf(row), env: JSON.parse(row.env_json) }
    })
  } catch (error) {
    if (!(error instanceof HoltError)) throw error
    const missing = error.code === 'template_not_found'
    throw new BuildError('image_not_found', error.message, {
      hint: missing ? 'Build it first, or name another template: GET /v1/agents/template lists them.' : error.hint,
      cause: error,
    })
  }
}

/** Returns the filesystem snapshot that a build starts from, held for the build. */
async function findFiles(
  service: Builds,
  { projectId, buildId }: BuildUnderWay,
  reference: string,
): Promise<TemplateBase> {
  try {
    return await service.store.change(aloneWithRow, async (changes) => {
      const row = await findSnapshot(changes, { projectId, reference })
      requireWritten(row)
      if (row.kind === 'memory') throw new BuildError('unsupported_setting', `${reference} is a memory snapshot.`)
      const imageDigest = row.image_digest as ImageDigest
      service.holds.hold(buildId, imageDigest)
      const { build: settings, env } = snapshotSettingsOf(row)
      return { reference, imageDigest, settings, env }
    })
  } catch (error) {
    if (!(error instanceof HoltError)) throw error
    const hint = 'GET /v1/agents/snapshot?kind=filesystem lists filesystem snapshots.'
    throw new BuildError('image_not_found', error.message, { hint, cause: error })
  }
}

function settingsOf(row: TemplateRow): TemplateBase['settings'] {
  if (row.build_settings_json !== null) return JSON.parse(row.build_settings_json)
  return {
    env: JSON.parse(row.env_json),
    user: row.user,
    workdir: row.workdir,
    shell: ['/bin/sh', '-c'],
    labels: {},
    ports: [],
    onBuild: [],
  }
}
