import { KeyedLock } from '@holt/async'
import { DockerfileReader } from '@holt/builder'
import type { EgressGateway } from '../resources/network/runtime-networks.ts'
import { ProjectRoom } from '../tenancy/limits/project-room.ts'
import { BuildLogs } from './build-log.ts'
import type { BuildNotes } from './build-notes.ts'
import { BuildQueue } from './build-queue.ts'
import { BuildStop, type BuildUnderWay } from './build-under-way.ts'
import type { Builder } from './builder.ts'
import type { Builds } from './builds.ts'
import { FileNotes } from './file-notes.ts'
import { OtherBuildHosts, type OtherBuilds } from './other-hosts.ts'
import { BuildPaths } from './paths.ts'
import { RowNotes } from './row-notes.ts'
import { runQueuedBuild } from './run-queued-build.ts'

/**
 * The builds of this process, and their shared parts. A build ends with its process, and the next
 * process cleans up.
 */
export class BuildsUnderWay {
  readonly logs: BuildLogs
  readonly paths: BuildPaths
  readonly builder: Builder
  readonly gateway: EgressGateway
  /** Parses Dockerfiles of clients in worker threads. */
  readonly reader = new DockerfileReader()
  /** The memory for uploads of contexts. */
  readonly uploads: ProjectRoom
  /** Serializes the creates of a project, so that equal requests find each other. */
  readonly creates = new KeyedLock()
  /** Serializes the copies of a context of another host. */
  readonly copies = new KeyedLock()
  /** The requests and uploads of clients of E2B. */
  readonly notes: BuildNotes
  readonly otherHosts = new OtherBuildHosts()
  /** Serializes the users of a cache mount. */
  readonly mounts = new KeyedLock()
  readonly #underWay = new Map<string, BuildUnderWay>()
  readonly #queue: BuildQueue<BuildUnderWay>
  readonly #service: () => Builds
  #recovered: Promise<void> = Promise.resolve()

  constructor(
    service: () => Builds,
    parts: Pick<Builds, 'store' | 'log' | 'config' | 'now'> & { builder: Builder; gateway: EgressGateway },
  ) {
    const { store, log, config, now, builder, gateway } = parts
    this.logs = new BuildLogs(store, log)
    this.paths = new BuildPaths(config.stateDir)
    this.notes = config.fleet === null ? new FileNotes(this.paths) : new RowNotes({ store, now })
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

  /** Delays all builds until the residue of earlier processes is removed. */
  runAfter(recovered: Promise<void>): void {
    this.#recovered = recovered
  }

  /** Queues a build. Its row must exist. */
  add(build: BuildUnderWay): void {
    this.#underWay.set(build.buildId, build)
    this.#queue.add(build)
  }

  /** Starts the builds that can start, after a quota has grown. */
  look(): void {
    this.#queue.look()
  }

  get(buildId: string): BuildUnderWay | null {
    return this.#underWay.get(buildId) ?? null
  }

  /** Returns the build in progress with an equal request. */
  findEqual(projectId: string, fingerprint: string): BuildUnderWay | null {
    for (const build of this.#underWay.values())
      if (build.projectId === projectId && build.fingerprint === fingerprint && !build.stop.signal.aborted) return build
    return null
  }

  ofTemplate(templateId: string): readonly BuildUnderWay[] {
    return [...this.#underWay.values()].filter((build) => build.templateId === templateId)
  }

  /**
   * Cancels the builds of a template, on all hosts of a fleet that answer. Resolves when they are
   * cleaned up.
   */
  async cancelOfTemplate(templateId: string): Promise<void> {
    const builds = { templateId, buildId: null }
    await Promise.all([this.cancelHere(builds), this.otherHosts.cancel?.(builds)])
  }

  /** Cancels builds of this host. Resolves when they are cleaned up. */
  async cancelHere({ templateId, buildId }: OtherBuilds): Promise<void> {
    const builds = this.ofTemplate(templateId).filter((build) => buildId === null || build.buildId === buildId)
    await Promise.all(builds.map((build) => this.stop(build, 'cancelled')))
  }

  /**
   * Gives the queued builds to other hosts, one after another. `give` resolves when another host
   * has the build. If it rejects, the build stays, and the rest with it.
   */
  async giveQueued(give: (build: BuildUnderWay) => Promise<void>): Promise<void> {
    for (const build of [...this.#queue.waiting]) {
      if (!this.#queue.remove(build)) continue
      try {
        await give(build)
      } catch (error) {
        this.#queue.add(build)
        throw error
      }
      this.#forget(build)
      const { templateId, buildId, stop } = build
      if (stop.signal.aborted) await this.otherHosts.cancel?.({ templateId, buildId })
    }
  }

  /** Returns true if a build that has not ended was requested with this context. */
  needsContext(contextId: string): boolean {
    return [...this.#underWay.values()].some(({ prepared }) => prepared.request.context_id === contextId)
  }

  /** The numbers of queued and of running builds. */
  get counts(): { readonly waiting: number; readonly running: number } {
    return { waiting: this.#queue.waiting.length, running: this.#queue.running }
  }

  /** Returns the numbers of queued builds: of a project, and of all. */
  waiting(projectId: string): { readonly ofProject: number; readonly ofAll: number } {
    const { waiting } = this.#queue
    return { ofProject: waiting.filter((build) => build.projectId === projectId).length, ofAll: waiting.length }
  }

  /** Stops a build and resolves when it is cleaned up. A queued one never starts. */
  async stop(build: BuildUnderWay, why: BuildStop['why']): Promise<void> {
    build.stop.abort(new BuildStop(why))
    if (this.#queue.remove(build)) await this.#carryOut(build)
    await build.ended
  }

  /** Stops every build. Resolves when they are cleaned up. */
  async stopAll(why: BuildStop['why']): Promise<void> {
    await Promise.all([...this.#underWay.values()].map((build) => this.stop(build, why)))
  }

  async close(): Promise<void> {
    await this.stopAll('service_stopped')
    await this.reader.close()
    await this.logs.flush()
  }

  /** Runs a build to its end. A build that was already stopped only ends. */
  async #carryOut(build: BuildUnderWay): Promise<void> {
    if (!build.stop.signal.aborted) await this.#recovered
    const service = this.#service()
    await service.tracer.span('build', { 'holt.build_id': build.buildId }, () => runQueuedBuild(service, build))
    this.#forget(build)
    service.collector.request()
  }

  #forget(build: BuildUnderWay): void {
    this.#underWay.delete(build.buildId)
    this.#service().holds.release(build.buildId)
    build.end()
  }
}
