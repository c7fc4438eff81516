import { expect } from 'vitest'
import type { Scenario } from '../support/fail-everywhere.ts'
import type { TestServer } from '../support/start-test-server.ts'
import { tarOf } from '../support/tar-of.ts'
import { tinyImageBuilder } from '../support/tiny-images.ts'

const templates = '/v1/agents/template'

/** A build that pulls an image, runs a step with a cache mount and copies a file of a context. */
interface Asked {
  readonly name: string
  readonly json: object
}

/** Checks the files that a build of this name has copied. */
async function expectBuilt(server: TestServer, name: string): Promise<void> {
  const id = await server.makeRuntime({ template: name })
  expect((await server.ask('GET', `/v1/agents/runtime/${id}/files/content?path=/workspace/copied`)).text).toBe(name)
}

/** The builds of a template, as a list has them. */
async function buildsOf({ ask }: TestServer, name: string): Promise<{ status: string; ended_at: string | null }[]> {
  const { data } = (await ask('GET', `${templates}/build?limit=100`)).json
  return data.filter((one: { name: string }) => one.name === name)
}

/** The actions on builds. */
export const build: Scenario<Asked> = {
  name: 'a build makes a template or says why not, and leaves nothing else',
  parts: ['build', 'collect'],
  last: 'collect.removed',
  marksChanges: true,
  options: { builder: tinyImageBuilder },
  prepare: async (server) => {
    const name = `t-${crypto.randomUUID()}`
    const { json } = await server.ask('POST', `${templates}/context`, { body: await tarOf({ file: name }) })
    const dockerfile = `FROM registry.example.com/${name}:1
RUN --mount=type=cache,target=/cache ["true"]
COPY file /workspace/copied`
    return { name, json: { name, dockerfile, context_id: json.context_id } }
  },
  act: (server, { json }, key) =>
    server.ask('POST', `${templates}/build`, { headers: { 'idempotency-key': key }, json }),
  over: (server, { name }) => {
    const open = async () => (await buildsOf(server, name)).filter(({ ended_at }) => ended_at === null)
    return expect.poll(open, { timeout: 25_000, interval: 20 }).toEqual([])
  },
  check: async (server, asked, { again }) => {
    const { name } = asked
    const isReady = (await buildsOf(server, name)).some(({ status }) => status === 'ready')
    const { json: template, status } = await server.ask('GET', `${templates}/${name}`)
    expect(status === 200 && template.state === 'ready').toBe(isReady)
    if (isReady) await expectBuilt(server, name)
    expect(again.status < 300 || again.status === 503, again.text).toBe(true)
    expect((await build.act(server, asked, crypto.randomUUID())).status).toBe(202)
    await build.over?.(server, asked)
    await expectBuilt(server, name)
    await expect.poll(async () => (await server.ask('DELETE', `${templates}/${name}`)).status).toBe(204)
  },
}
