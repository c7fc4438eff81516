import type { BuildRequest, CreateBuild } from '@holt/protocol'
import { sql } from 'kysely'
import type { Changes, Queries } from '../foundation/store/open-store.ts'
import { storedJson } from '../foundation/store/stored-json.ts'
import { redactAll } from '../resources/secrets/redact.ts'
import type { BuildRef } from './find-build.ts'

/** The size in bytes of the longest request that is kept. */
const maxRequestBytes = 256 * 1024

/** The bound of the kept requests of a project's builds, in bytes. The oldest are removed first. */
const maxProjectBytes = 32 * 2 ** 20

/** The JSON of a row of `build_requests`: the answer of the API. */
type Kept = BuildRequest

interface Keeping extends BuildRef {
  readonly request: CreateBuild
  /** Blanks the values of the request's secrets. */
  readonly redact: (text: string) => string
}

/**
 * Keeps the request of a build, so that people can change it and build again. Values of secrets are
 * left out, and blanked in every other text. A longer request is kept without its body. The oldest
 * requests of the project are removed in the same transaction, as far as its bound needs that.
 */
export async function keepRequest(changes: Changes, { projectId, buildId, request, redact }: Keeping): Promise<void> {
  const { build_secrets, registry_auth } = request
  const more = { build_secrets: Object.keys(build_secrets), registry_user: registry_auth?.username ?? null }
  const whole = JSON.stringify({ request: bodyOf(request, redact), ...more } satisfies Kept)
  const json =
    Buffer.byteLength(whole) <= maxRequestBytes ? whole : JSON.stringify({ request: null, ...more } satisfies Kept)
  await changes
    .insertInto('build_requests')
    .values({ build_id: buildId, request_json: json, request_bytes: Buffer.byteLength(json) })
    .execute()
  await removeOldRequests(changes, projectId)
}

/** Removes the oldest kept requests of a project that has more bytes of them than its bound. */
async function removeOldRequests(changes: Changes, projectId: string): Promise<void> {
  await sql`
    DELETE FROM build_requests WHERE build_id IN (
      SELECT build_id FROM (
        SELECT builds.build_id, sum(request_bytes) OVER (ORDER BY seq DESC) AS total
        FROM builds JOIN build_requests ON build_requests.build_id = builds.build_id
        WHERE builds.project_id = ${projectId}) AS summed
      WHERE total > ${maxProjectBytes})`.execute(changes)
}

/** Returns the kept request of a build. Its body is null if it is no longer kept. */
export async function readRequest(db: Queries, buildId: string): Promise<BuildRequest> {
  const row = await db
    .selectFrom('build_requests')
    .select('request_json')
    .where('build_id', '=', buildId)
    .executeTakeFirst()
  const kept = row === undefined ? undefined : (storedJson(row.request_json) as Kept | undefined)
  // The row of an older build is not there, and a damaged one is as one that is not kept.
  return kept ?? { request: null, build_secrets: [], registry_user: null }
}

/** Returns the whole body of a request, with its secrets. */
export function requestBody(request: CreateBuild): Record<string, unknown> {
  const { build_secrets, registry_auth } = request
  return { ...fieldsOf(request), build_secrets, ...(registry_auth === undefined ? {} : { registry_auth }) }
}

function bodyOf(request: CreateBuild, redact: (text: string) => string): Record<string, unknown> {
  return redactAll(fieldsOf(request), redact) as Record<string, unknown>
}

/** Returns the body that builds the same: sizes have their unit, and empty fields are absent. */
function fieldsOf(request: CreateBuild): Record<string, unknown> {
  const { build_secrets: _, registry_auth: __, memory, disk, build_args, env, no_cache, ...fields } = request
  const body = {
    ...fields,
    memory: memory === undefined ? undefined : `${memory}MiB`,
    disk: disk === undefined ? undefined : `${disk}MiB`,
    build_args: Object.keys(build_args).length === 0 ? undefined : build_args,
    env: Object.keys(env).length === 0 ? undefined : env,
    no_cache: no_cache ? true : undefined,
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}
