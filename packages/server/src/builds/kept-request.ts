import type { BuildRequest, CreateBuild } from '@holt/protocol'
import type { Changes, Queries } from '../foundation/store/open-store.ts'
import { storedJson } from '../foundation/store/stored-json.ts'
import { redactAll } from '../resources/secrets/redact.ts'

/** The size in bytes of the longest request that is kept. */
const maxRequestBytes = 256 * 1024

/** The JSON of a row of `build_requests`: the answer of the API. */
type Kept = BuildRequest

/**
 * Keeps the request of a build, so that people can change it and build again. Values of secrets are
 * left out, and blanked in every other text. A longer request is kept without its body.
 */
export async function keepRequest(
  changes: Changes,
  { buildId, request, redact }: { buildId: string; request: CreateBuild; redact: (text: string) => string },
): Promise<void> {
  const { build_secrets, registry_auth } = request
  const more = { build_secrets: Object.keys(build_secrets), registry_user: registry_auth?.username ?? null }
  const whole = JSON.stringify({ request: bodyOf(request, redact), ...more } satisfies Kept)
  const json =
    Buffer.byteLength(whole) <= maxRequestBytes ? whole : JSON.stringify({ request: null, ...more } satisfies Kept)
  await changes
    .insertInto('build_requests')
    .values({ build_id: buildId, request_json: json, request_bytes: Buffer.byteLength(json) })
    .execute()
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

/** Returns the body that builds the same: sizes have their unit, and empty fields are absent. */
function bodyOf(request: CreateBuild, redact: (text: string) => string): Record<string, unknown> {
  const { build_secrets: _, registry_auth: __, memory, disk, build_args, env, no_cache, ...fields } = request
  const body = {
    ...fields,
    memory: memory === undefined ? undefined : `${memory}MiB`,
    disk: disk === undefined ? undefined : `${disk}MiB`,
    build_args: Object.keys(build_args).length === 0 ? undefined : build_args,
    env: Object.keys(env).length === 0 ? undefined : env,
    no_cache: no_cache ? true : undefined,
  }
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
  return redactAll(given, redact) as Record<string, unknown>
}
