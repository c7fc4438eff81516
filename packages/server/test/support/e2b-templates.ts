import { gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import type { ServerOptions } from '../../src/index.ts'
import { type E2bServer, startE2bServer } from './e2b-server.ts'
import { FakeBuilder, until } from './fake-builder.ts'
import { tarOf } from './tar-of.ts'

/** Starts a server whose builds do what the test says. */
export async function startBuildServer(options: Partial<ServerOptions> = {}) {
  const builder = new FakeBuilder()
  return { ...(await startE2bServer({}, { builder, ...options })), builder }
}

/** The ids of a requested build. */
export interface Requested {
  readonly templateID: string
  readonly buildID: string
}

/** Requests a build, as the first step of a client. */
export async function requestTemplate({ e2b }: E2bServer, json: object = { name: 'app:v1' }): Promise<Requested> {
  const answer = await e2b('POST', '/v3/templates', { json })
  expect(answer.status).toBe(202)
  return answer.json as Requested
}

/** Starts a requested build. */
export const startTemplate = ({ e2b }: E2bServer, { templateID, buildID }: Requested, json: object = {}) =>
  e2b('POST', `/v2/templates/${templateID}/builds/${buildID}`, { json: { fromImage: 'debian:12', ...json } })

/** Returns the status of a requested build. */
export const templateStatusOf = async ({ e2b }: E2bServer, { templateID, buildID }: Requested, query = '') =>
  (await e2b('GET', `/templates/${templateID}/builds/${buildID}/status${query}`)).json

/** Waits until a build has ended, and returns its status. */
export const templateEnded = (server: E2bServer, build: Requested) =>
  until(async () => {
    const now = await templateStatusOf(server, build)
    return ['ready', 'error'].includes(now.status) ? now : null
  })

/** Uploads the files of a hash. Returns their address, and an upload that repeats it. */
export async function uploadFiles(
  server: E2bServer,
  { templateID }: Requested,
  { hash, files }: { readonly hash: string; readonly files: Readonly<Record<string, string>> },
) {
  const { status: found, json } = await server.e2b('GET', `/templates/${templateID}/files/${hash}`)
  expect([found, json.present]).toEqual([201, false])
  const body = gzipSync(await tarOf(files))
  const put = () => fetch(json.url, { method: 'PUT', body })
  expect((await put()).status).toBe(200)
  return { url: json.url as string, body, put }
}
