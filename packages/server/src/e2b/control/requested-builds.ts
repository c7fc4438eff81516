import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StepOrigin } from '@holt/e2b'
import { HoltError, isIdParam } from '@holt/protocol'
import { z } from 'zod'
import type { Api } from '../../api/api.ts'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import { idNotFound } from '../../foundation/errors/not-found.ts'

/** The time for which a build waits for its start, in milliseconds. */
const waitsMs = 24 * 3600 * 1000

/** The time for which a started build keeps the steps of its client, in milliseconds. */
const keptMs = 7 * 24 * 3600 * 1000

/** The most builds of a project that wait for their start. */
const maxWaiting = 100

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
  /** The start of the build: the origin of each step of Holt, and the client's command lines. */
  started: z.object({ at: z.number(), origins: z.array(origin), lines: z.array(z.string()) }).nullable(),
  /** True if the further tags are assigned. */
  tagged: z.boolean(),
})
export type RequestedBuild = z.output<typeof RequestedBuild>

/**
 * Keeps the builds that clients request, in files of the state directory: from the request, before
 * Holt knows a build, until some days after its start.
 */
export class RequestedBuilds {
  readonly #dir: string
  readonly #now: () => number

  constructor({ config, now }: Pick<Api, 'config' | 'now'>) {
    this.#dir = join(config.stateDir, 'e2b', 'builds')
    this.#now = now
  }

  /** Adds a request. Throws if the project has too many that wait. */
  async add(build: RequestedBuild): Promise<void> {
    const waiting = (await this.#sweep()).filter((one) => one.projectId === build.projectId && one.started === null)
    if (waiting.length >= maxWaiting)
      throw limitReached('quota_exceeded', `${maxWaiting} builds of this project already wait for their start.`, {
        limit: maxWaiting,
        hint: 'Start them, or wait until they expire after a day.',
      })
    await this.write(build)
  }

  /** Writes a request whole, so that a reader sees the old one or the new one. */
  async write(build: RequestedBuild): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 })
    const part = join(this.#dir, `.${randomBytes(8).toString('hex')}.part`)
    await writeFile(part, JSON.stringify(build), { mode: 0o600 })
    await rename(part, this.#path(build.buildId))
  }

  /** Returns a project's request, or null if there is none. */
  async find(projectId: string, buildId: string): Promise<RequestedBuild | null> {
    if (!isIdParam('build_id', buildId)) return null
    const build = await this.#read(this.#path(buildId))
    return build === null || build.projectId !== projectId || this.#isOver(build) ? null : build
  }

  /** Returns a project's request. Throws `build_not_found` if there is none for the template. */
  async get(
    projectId: string,
    ref: { readonly templateId: string; readonly buildId: string },
  ): Promise<RequestedBuild> {
    const build = await this.find(projectId, ref.buildId)
    if (build === null || build.templateId !== ref.templateId) throw idNotFound('build_not_found', ref.buildId)
    return build
  }

  /** Returns true if a project has requested a build of this template. */
  async hasTemplate(projectId: string, templateId: string): Promise<boolean> {
    return (await this.#all()).some((one) => one.projectId === projectId && one.templateId === templateId)
  }

  /** Removes the requests that are over, and returns the others. */
  async #sweep(): Promise<readonly RequestedBuild[]> {
    const all = await this.#all()
    const over = all.filter((build) => this.#isOver(build))
    await Promise.all(over.map(({ buildId }) => rm(this.#path(buildId), { force: true })))
    return all.filter((build) => !over.includes(build))
  }

  async #all(): Promise<readonly RequestedBuild[]> {
    const names = await readdir(this.#dir).catch(orNone<string[]>([]))
    const builds = await Promise.all(
      names.filter((name) => name.endsWith('.json')).map((name) => this.#read(join(this.#dir, name))),
    )
    return builds.filter((build) => build !== null)
  }

  async #read(path: string): Promise<RequestedBuild | null> {
    const text = await readFile(path, 'utf8').catch(orNone<string | null>(null))
    if (text === null) return null
    const parsed = RequestedBuild.safeParse(JSON.parse(text))
    if (!parsed.success) throw new HoltError('internal', `${path} is not the request of a build`)
    return parsed.data
  }

  #isOver({ requestedAt, started }: RequestedBuild): boolean {
    return this.#now() > (started === null ? requestedAt + waitsMs : started.at + keptMs)
  }

  #path(buildId: string): string {
    return join(this.#dir, `${buildId}.json`)
  }
}

/** Returns a value for a file or directory that is missing. */
export function orNone<Value>(none: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === 'ENOENT') return none
    throw error
  }
}
