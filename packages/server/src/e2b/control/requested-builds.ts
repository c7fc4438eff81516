import type { StepOrigin } from '@holt/e2b'
import { idSchema, isIdParam, makeId } from '@holt/protocol'
import { z } from 'zod'
import type { Api } from '../../api/api.ts'
import type { NotePlace, NotesOf } from '../../builds/build-notes.ts'
import { limitReached } from '../../foundation/errors/limit-reached.ts'
import { idNotFound } from '../../foundation/errors/not-found.ts'
import { storedJson } from '../../foundation/store/stored-json.ts'
import { dayMs } from '../../foundation/time/day.ts'
import { clientTemplateId } from '../sandbox/client-template-id.ts'

/** The time for which a build waits for its start, in milliseconds. */
const waitsMs = dayMs

/** The time for which a started build keeps the steps of its client, in milliseconds. */
const keptMs = 7 * dayMs

/** The maximum number of builds of a project that wait for their start. */
const maxWaiting = 100

/** The maximum number of started builds of a project that are kept. Older ones are removed. */
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
   * The start of the build: the origin of each step of Holt, and the client's command lines. If a
   * request equals a build in progress, Holt answers with that build, whose id differs.
   */
  started: z
    .object({ at: z.number(), buildId: z.string(), origins: z.array(origin), lines: z.array(z.string()) })
    .nullable(),
  /** True if the further tags are assigned. */
  tagged: z.boolean(),
})
export type RequestedBuild = z.output<typeof RequestedBuild>

/** A request without its steps. */
type Known = Pick<RequestedBuild, 'templateId' | 'name' | 'tag'> & {
  /** The id of Holt's build for it. Null before its start. */
  readonly startedAs: string | null
}

/**
 * Keeps the builds that clients request, in notes. A note lasts from the request, which comes
 * before the build of Holt, until some days after the start.
 */
export class RequestedBuilds {
  readonly #builds: Api['builds']
  readonly #now: () => number
  readonly #log: Api['log']

  constructor({ builds, now, log }: Pick<Api, 'builds' | 'now' | 'log'>) {
    this.#builds = builds
    this.#now = now
    this.#log = log
  }

  /**
   * Adds a request and returns it. Its template is the one that `find` returns. Otherwise it is
   * that of an unfinished request with the same name and tag, or a new one. Throws if too many
   * requests of the project wait.
   */
  async add(
    build: Omit<RequestedBuild, 'templateId'>,
    find: {
      /** Returns true if a build has not made its template. */
      readonly isUnready: (buildId: string) => Promise<boolean>
      /** Returns the template of the name and tag, or undefined if there is none. */
      readonly template: () => Promise<string | undefined>
    },
  ): Promise<RequestedBuild> {
    const { projectId } = build
    return this.#builds.creates.run(projectId, async () => {
      const known = await this.sweep(projectId)
      const waiting = known.filter(({ startedAs }) => startedAs === null)
      if (waiting.length >= maxWaiting)
        throw limitReached('quota_exceeded', `${maxWaiting} builds of this project already wait for their start.`, {
          limit: maxWaiting,
          hint: 'Start them, or wait until they expire after a day.',
        })
      let earlier: string | undefined
      for (const { templateId, name, tag, startedAs } of known)
        if (name === build.name && tag === build.tag && (startedAs === null || (await find.isUnready(startedAs))))
          earlier = templateId
      // Last, because a build that was not ready may have made its template meanwhile.
      const added = { ...build, templateId: (await find.template()) ?? earlier ?? makeId('template') }
      await this.write(added)
      return added
    })
  }

  /** Writes a request whole, so that a reader sees the old one or the new one. */
  async write(build: RequestedBuild): Promise<void> {
    const { projectId, name, buildId } = build
    const place = placeOf(projectId, { clientId: clientTemplateId(projectId, name), buildId })
    await this.#builds.notes.write(place, JSON.stringify(build))
  }

  /**
   * Returns a project's request, for the ids that its client knows. Throws `build_not_found` if
   * there is none for the template.
   */
  async get(
    projectId: string,
    { clientId, buildId }: { readonly clientId: string; readonly buildId: string },
  ): Promise<RequestedBuild> {
    const isKnown = idSchema('template').safeParse(clientId).success && isIdParam('build_id', buildId)
    const build = isKnown ? await this.#read(placeOf(projectId, { clientId, buildId })) : null
    if (build === null || this.#isOver(build)) throw idNotFound('build_not_found', buildId)
    return build
  }

  /** Returns true if a project has requested a build of the template with this id of its client. */
  async hasTemplate(projectId: string, clientId: string): Promise<boolean> {
    return (await this.#names(projectId)).some((name) => name.startsWith(`${clientId}.`))
  }

  /**
   * Removes the requests of a project that are over or damaged, and its oldest started ones above a
   * number. Returns the others, in the order of their start; those that wait come last.
   */
  async sweep(projectId: string): Promise<readonly Known[]> {
    const waiting: Known[] = []
    const started: (Known & { readonly place: NotePlace; readonly at: number })[] = []
    // One after the other, and without their steps: together they may have a hundred MiB.
    for (const name of await this.#names(projectId)) {
      const place = { ...notesOf(projectId), name }
      const build = await this.#read(place)
      if (build === null || this.#isOver(build)) await this.#builds.notes.remove(place)
      else {
        const { templateId, name: of, tag } = build
        const known = { templateId, name: of, tag, startedAs: build.started?.buildId ?? null }
        if (build.started === null) waiting.push(known)
        else started.push({ ...known, place, at: build.started.at })
      }
    }
    const newest = started.toSorted((one, other) => other.at - one.at)
    for (const { place } of newest.slice(maxStarted)) await this.#builds.notes.remove(place)
    return [...newest.slice(0, maxStarted).toReversed(), ...waiting]
  }

  async #names(projectId: string): Promise<readonly string[]> {
    return this.#builds.notes.names(notesOf(projectId))
  }

  /** Returns a request. Returns null if there is none, or if it is damaged. */
  async #read(place: NotePlace): Promise<RequestedBuild | null> {
    const text = await this.#builds.notes.read(place)
    if (text === null) return null
    const parsed = RequestedBuild.safeParse(storedJson(text))
    if (!parsed.success)
      this.#log.error({ note: place.name }, 'the request of a build is damaged and counts as missing')
    return parsed.data ?? null
  }

  #isOver({ requestedAt, started }: RequestedBuild): boolean {
    return this.#now() > (started === null ? requestedAt + waitsMs : started.at + keptMs)
  }
}

function notesOf(projectId: string): NotesOf {
  return { kind: 'requests', projectId }
}

/** Returns the place of a request, by the ids that its client knows. */
function placeOf(
  projectId: string,
  { clientId, buildId }: { readonly clientId: string; readonly buildId: string },
): NotePlace {
  return { ...notesOf(projectId), name: `${clientId}.${buildId}.json` }
}

/** Returns the id of Holt's build of a request. */
export function builtBy({ buildId, started }: RequestedBuild): string {
  return started?.buildId ?? buildId
}
