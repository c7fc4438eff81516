import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type AgentTemplate, readAgentTemplate } from '../../../src/index.ts'
import { requestTemplate, startBuildServer, startTemplate, templateEnded } from '../../support/e2b-templates.ts'
import { until } from '../../support/fake-builder.ts'

const interpreter: AgentTemplate = {
  name: 'code-interpreter',
  dockerfile: 'FROM holt/base-small\nRUN install-kernels',
  digest: 'one',
  cpu: 2,
  memoryMiB: 2048,
  diskMiB: 8192,
  vendors: [],
  buildNetwork: { allow: [], include: [], allow_all_hosts: false, deny: [] },
  files: [],
  application: null,
}

const desktopDir = join(import.meta.dirname, '../../../../../templates/desktop')

const setUp = async () => startBuildServer({ agentTemplates: [interpreter, await readAgentTemplate(desktopDir)] })
type Server = Awaited<ReturnType<typeof setUp>>

const create = ({ e2b }: Server, templateID: string) => e2b('POST', '/v2/sandboxes', { json: { templateID } })

const made = (server: Server, name = 'code-interpreter') =>
  until(async () => (await server.ask('GET', `/v1/agents/template/${name}`)).json.state === 'ready')

test.each([
  ['code-interpreter-v1', 'code-interpreter'],
  ['code-interpreter-v1:default', 'code-interpreter'],
  ['code-interpreter', 'code-interpreter'],
  ['desktop', 'desktop'],
])('a create of %s starts the build of the template %s, and later ones use it', async (name, template) => {
  const server = await setUp()
  const first = await create(server, name)
  expect([first.status, first.json.message]).toEqual([503, expect.stringContaining('is being made')])
  await made(server, template)
  expect((await create(server, name)).status).toBe(201)
  expect(server.builder.runs).toHaveLength(1)
})

test('a build on it starts its build first, and can be started again when that is ready', async () => {
  const server = await setUp()
  const build = await requestTemplate(server)
  const start = () => startTemplate(server, build, { fromImage: undefined, fromTemplate: 'code-interpreter-v1' })
  const refused = await start()
  expect([refused.status, refused.json.message]).toEqual([503, expect.stringContaining('is being made')])
  await made(server)
  expect((await start()).status).toBe(202)
  expect((await templateEnded(server, build)).status).toBe('ready')
  expect(server.builder.runs.map(({ request }) => request.source.type)).toEqual(['dockerfile', 'template'])
})
