import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { StepOrigin } from '@holt/e2b'
import { idSchema, isIdParam } from '@holt/protocol'
import { z } from 'zod'
import type { Api } from '../../api/api.ts'
import { writeDurably } from '../../foundation/config/write-durably.ts'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import { storedJson } from '../../foundation/store/stored-json.ts'

/** The time for which a build waits for its start, in milliseconds. */
const waitsMs = 24 * 3600 * 1000

/** The time for which a started build keeps the steps of its client, in milliseconds. */
const keptMs = 7 * 24 * 3600 * 1000

/** The most builds of a project that wait for their start. */
const maxWaiting = 100

/** The most started builds of a project that are kept. Older ones are removed. */
const maxStarted = 200

const origin: z.ZodType<StepOrigin> = z.union([z.number(), z.literal('base')])

/** A build that a client has requested, and what Holt's own build does not keep of it. */
const RequestedBuild = z.object({
  projectId: z.string(),
  buildId: z.string(),
  templateId: z.string(),
  /** The name and the tag of the client's, and Holt's for both. */
  shownName: z.string(),
  name: z.string(),
  tag: z.string(),
  /** Further tags, which the template gets when it is ready. */
  tags: z.array(z.string()),
  cpu: z.number(),
  memoryMiB: z.number(),
  diskMiB: z.number().nullable(),
  requestedAt: z.number(),
  /**
   * The start of the build: the origin of each step of Holt, and the client's command lines. Holt
   * answers a request that equals a build in progress with that build, which has another id.
   */
  started: z
    .object({ at: z.number(), buildId: z.string(), origins: z.array(origin), lines: z.array(z.string()) })
    .nullable(),
  /** True if the further tags are assigned. */
  tagged: z.boolean(),
})
export type RequestedBuild = z.output<typeof RequestedBuild>

/**
 * Keeps the builds that clients request, in files of the state directory: from the request, before
 * Holt knows a build, until some days after its start. Each project has a directory of its own.
 */
export class RequestedBuilds {
  readonly #root: string
  readonly #now: () => number
  readonly #log: Api['log']

  constructor({ config, now, log }: Pick<Api, 'config' | 'now' | 'log'>) {
    this.#root = join(config.stateDir, 'e2b', 'builds')
    this.#now = now
    this.#log = log
  }

  /** Adds a request. Throws if the project has too many that wait. */
  async add(build: RequestedBuild): Promise<void> {
    const all = await this.#sweep(build.projectId)
    if (all.filter(({ started }) => started === null).length >= maxWaiting)
      throw limitReached('quota_exceeded', `${maxWaiting} builds of this project already wait for their start.`, {
        limit: maxWaiting,
        hint: 'Start them, or wait until they expire after a day.',
      })
    await this.write(build)
  }

  /** Writes a request. */
  async write(build: RequestedBuild): Promise<void> {
    await mkdir(this.#dirOf(build.projectId), { recursive: true, mode: 0o700 })
    await writeDurably(this.#pathOf(build), JSON.stringify(build))
  }

  /** Returns a project's request. Throws `build_not_found` if there is none for the template. */
  async get(
    projectId: string,
    { templateId, buildId }: { readonly templateId: string; readonly buildId: string },
  ): Promise<RequestedBuild> {
    const isKnown = idSchema('template').safeParse(templateId).success && isIdParam('build_id', buildId)
    const build = isKnown ? await this.#read(this.#pathOf({ projectId, templateId, buildId })) : null
    if (build === null || this.#isOver(build)) throw idNotFound('build_not_found', buildId)
    return build
  }

  /** Returns true if a project has requested a build of this template. */
  async hasTemplate(projectId: string, templateId: string): Promise<boolean> {
    return (await this.#names(projectId)).some((name) => name.startsWith(`${templateId}.`))
  }

  /** Removes the requests of a project that are over or damaged, and returns the others. */
  async #sweep(projectId: string): Promise<readonly RequestedBuild[]> {
    const kept: RequestedBuild[] = []
    // One after the other: together they may have a hundred MiB.
    for (const name of await this.#names(projectId)) {
      const path = join(this.#dirOf(projectId), name)
      const build = await this.#read(path)
      if (build === null || this.#isOver(build)) await rm(path, { force: true })
      else kept.push(build)
    }
    const started = kept.filter((build) => build.started !== null).sort((a, b) => b.requestedAt - a.requestedAt)
    for (const build of started.slice(maxStarted)) await rm(this.#pathOf(build), { force: true })
    return kept
  }

  async #names(projectId: string): Promise<readonly string[]> {
    const names = await readdir(this.#dirOf(projectId)).catch(orNone<string[]>([]))
    return names.filter((name) => name.endsWith('.json'))
  }

  /** Returns a request. Returns null if there is none, or if it is damaged. */
  async #read(path: string): Promise<RequestedBuild | null> {
    const text = await readFile(path, 'utf8').catch(orNone<string | null>(null))
    if (text === null) return null
    const parsed = RequestedBuild.safeParse(storedJson(text))
    if (!parsed.success) this.#log.error({ path }, 'the request of a build is damaged and counts as missing')
    return parsed.data ?? null
  }

  #isOver({ requestedAt, started }: RequestedBuild): boolean {
    return this.#now() > (started === null ? requestedAt + waitsMs : started.at + keptMs)
  }

  #dirOf(projectId: string): string {
    return join(this.#root, projectId)
  }

  #pathOf({ projectId, templateId, buildId }: Pick<RequestedBuild, 'projectId' | 'templateId' | 'buildId'>): string {
    return join(this.#dirOf(projectId), `${templateId}.${buildId}.json`)
  }
}

/** Returns a value for a file or directory that is missing. */
export function orNone<Value>(none: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === 'ENOENT') return none
    throw error
  }
}
