import { KeyedLock } from '@holt/async'
import { DockerfileReader } from '@holt/builder'
import type { EgressGateway } from '../resources/network/runtime-networks.ts'
import { ProjectRoom } from '../tenancy/limits/project-room.ts'
import { BuildLogs } from './build-log.ts'
import { BuildQueue } from './build-queue.ts'
import { BuildStop, type BuildUnderWay } from './build-under-way.ts'
import type { Builder } from './builder.ts'
import type { Builds } from './builds.ts'
import { BuildPaths } from './paths.ts'
import { runQueuedBuild } from './run-queued-build.ts'

/**
 * The builds of this process, and what they share. A build does not outlive its process: what is
 * left of it is cleared away by the next one.
 */
export class BuildsUnderWay {
  readonly logs: BuildLogs
  readonly paths: BuildPaths
  readonly builder: Builder
  readonly gateway: EgressGateway
  /** Reads clients' Dockerfiles outside the event loop. */
  readonly reader = new DockerfileReader()
  /** Room for contexts that are being uploaded. */
  readonly uploads: ProjectRoom
  /** One create of a project at a time, so that equal ones find each other. */
  readonly creates = new KeyedLock()
  /** Users of a cache mount, one after another. */
  readonly mounts = new KeyedLock()
  readonly #underWay = new Map<string, BuildUnderWay>()
  readonly #queue: BuildQueue<BuildUnderWay>
  readonly #service: () => Builds
  #recovered: Promise<void> = Promise.resolve()

  constructor(
    service: () => Builds,
    parts: Pick<Builds, 'store' | 'log' | 'config'> & { builder: Builder; gateway: EgressGateway },
  ) {
    const { store, log, config, builder, gateway } = parts
    this.logs = new BuildLogs(store, log)
    this.paths = new BuildPaths(config.stateDir)
    this.uploads = new ProjectRoom({ maxBytes: Number.POSITIVE_INFINITY, maxBytesOfProject: config.buildContextsBytes })
    this.builder = builder
    this.gateway = gateway
    this.#queue = new BuildQueue({
      atOnce: config.buildsAtOnce,
      atOnceOf: (projectId) => service().projects.known(projectId).builds ?? config.buildsAtOnce,
      run: (build) => this.#carryOut(build),
    })
    this.#service = service
  }

  /** No build runs before what earlier processes left has been cleared away. */
  runAfter(recovered: Promise<void>): void {
    this.#recovered = recovered
  }

  /** Has a build wait for its turn. Its row exists. */
  add(build: BuildUnderWay): void {
    this.#underWay.set(build.buildId, build)
    this.#queue.add(build)
  }

  /** Begins what may begin, now that a project may have more. */
  look(): void {
    this.#queue.look()
  }

  get(buildId: string): BuildUnderWay | null {
    return this.#underWay.get(buildId) ?? null
  }

  /** The build in flight that does what an equal request would. */
  findEqual(projectId: string, fingerprint: string): BuildUnderWay | null {
    for (const build of this.#underWay.values())
      if (build.projectId === projectId && build.fingerprint === fingerprint && !build.stop.signal.aborted) return build
    return null
  }

  ofTemplate(templateId: string): readonly BuildUnderWay[] {
    return [...this.#underWay.values()].filter((build) => build.templateId === templateId)
  }

  /** Cancels the builds of a template. Resolves when nothing is left of them. */
  async cancelOfTemplate(templateId: string): Promise<void> {
    await Promise.all(this.ofTemplate(templateId).map((build) => this.stop(build, 'cancelled')))
  }

  /** Returns true if a build that has not ended was requested with this context. */
  needsContext(contextId: string): boolean {
    return [...this.#underWay.values()].some(({ prepared }) => prepared.request.context_id === contextId)
  }

  /** The numbers of waiting and of running builds. */
  get counts(): { readonly waiting: number; readonly running: number } {
    return { waiting: this.#queue.waiting.length, running: this.#queue.running }
  }

  /** Returns the number of waiting builds: of a project, and of all. */
  waiting(projectId: string): { readonly ofProject: number; readonly ofAll: number } {
    const { waiting } = this.#queue
    return { ofProject: waiting.filter((build) => build.projectId === projectId).length, ofAll: waiting.length }
  }

  /** Ends a build and resolves when nothing is left of it. One that waits never begins. */
  async stop(build: BuildUnderWay, why: BuildStop['why']): Promise<void> {
    build.stop.abort(new BuildStop(why))
    if (this.#queue.remove(build)) await this.#carryOut(build)
    await build.ended
  }

  /** Ends every build. */
  async close(): Promise<void> {
    await Promise.all([...this.#underWay.values()].map((build) => this.stop(build, 'service_stopped')))
    await this.reader.close()
    await this.logs.flush()
  }

  /** Runs a build to its end. One that was stopped before only ends. */
  async #carryOut(build: BuildUnderWay): Promise<void> {
    if (!build.stop.signal.aborted) await this.#recovered
    const service = this.#service()
    await service.tracer.span('build', { 'holt.build_id': build.buildId }, () => runQueuedBuild(service, build))
    this.#underWay.delete(build.buildId)
    service.holds.release(build.buildId)
    service.collector.request()
    build.end()
  }
}
