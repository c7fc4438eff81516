import { createInterface } from 'node:readline'
import { Build, BuildLogItem, BuildStarted, type CreateBuildInput } from '@holt/protocol'
import { expect } from 'vitest'
import { call, success, wireRequest } from './api.ts'
import { service } from './facts.ts'
import { open } from './http.ts'
import { until } from './until.ts'

/** The path of the templates. */
export const templatesPath = '/v1/agents/template'

/** The path of the builds. */
export const buildsPath = `${templatesPath}/build`

/** A build boots runtimes and takes checkpoints, on a machine that may be busy. */
const buildTimeoutMs = 240_000

/** Starts a build and answers its id. */
export async function startBuild(body: CreateBuildInput): Promise<string> {
  return success(await call('POST', buildsPath, { json: body }), 202, BuildStarted).build_id
}

/** A build as it is now. */
export async function getBuild(buildId: string): Promise<Build> {
  return success(await call('GET', `${buildsPath}/${buildId}`), 200, Build)
}

/** Waits until a build has ended, and answers it. */
export async function endOf(buildId: string): Promise<Build> {
  const ended = async () => {
    const build = await getBuild(buildId)
    return build.ended_at === null ? null : build
  }
  return until('the build has ended', ended, buildTimeoutMs)
}

/** Starts a build and waits until it has ended. */
export async function build(body: CreateBuildInput): Promise<Build> {
  return endOf(await startBuild(body))
}

/** A build that has to become ready. */
export async function built(body: CreateBuildInput): Promise<Build> {
  const ended = await build(body)
  expect(ended.status, JSON.stringify(ended.reason, null, 2)).toBe('ready')
  return ended
}

/** The items of a build's log, to its end. */
export async function logOf(buildId: string, { cursor = 0, follow = false } = {}): Promise<readonly BuildLogItem[]> {
  const target = `${buildsPath}/${buildId}/logs`
  const request = wireRequest('GET', target, { query: { cursor, follow }, timeoutMs: buildTimeoutMs })
  const message = await open(service.url, request)
  expect(message.statusCode).toBe(200)
  const items: BuildLogItem[] = []
  for await (const line of createInterface({ input: message, crlfDelay: Number.POSITIVE_INFINITY }))
    if (line !== '') items.push(BuildLogItem.parse(JSON.parse(line)))
  return items
}

/** The messages of a build's log. */
export async function messagesOf(buildId: string): Promise<readonly string[]> {
  return (await logOf(buildId)).flatMap((item) => (item.type === 'log' ? [item.message] : []))
}
