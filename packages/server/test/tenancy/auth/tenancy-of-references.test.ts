import { idPrefixes, type Route, type RouteName, routes } from '@holt/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ended, FakeBuilder } from '../../support/fake-builder.ts'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { fillPath, makeThings, noThings, type Things } from '../../support/things-of-a-project.ts'

type JsonSchema = Readonly<Record<string, unknown>>

/** Fields that are called as a thing is, and name none. */
const noReferences: readonly string[] = [
  'startCommand command', // What is run.
  'createProvider client_id', // At the provider's.
  'createProvider client_secret', // A value.
  'replaceProvider client_id',
  'replaceProvider client_secret',
  'createBuild build_secrets', // Values, by names of their own.
  'createBuild build_args', // Likewise.
  'checkDockerfile build_args',
  'writeFile upload_id', // Of the client's making, below one file of one runtime.
  'getUpload upload_id',
  'abortUpload upload_id',
]

/**
 * The words for things: a field whose name has one of them names such a thing. A `host` in a
 * request is a name of the network: no route takes the machines of an operator.
 */
const words = [...Object.keys(idPrefixes), 'id', 'subject', 'session', 'parent'].filter((word) => word !== 'host')

/** Every field of bodies and queries that names a thing, as `route field`. */
const references = (Object.entries<Route>(routes) as [RouteName, Route][])
  .filter(([, { scope }]) => scope !== 'operator')
  .flatMap(([name, { query, body }]) => [
    ...fieldsOf(query).flatMap((field) => (isReference(field) || isFilterByName(field) ? [`${name} ${field}`] : [])),
    ...(body.type === 'json' ? fieldsOf(body.schema) : []).flatMap((field) =>
      isReference(field) ? [`${name} ${field}`] : [],
    ),
  ])
  .filter((reference) => !noReferences.includes(reference))

function isReference(field: string): boolean {
  return field.split('_').some((word) => words.includes(word) || words.includes(word.replace(/s$/, '')))
}

/**
 * In a query `name` is what a thing is looked for by; in a body it is what a new one will be
 * called.
 */
function isFilterByName(field: string): boolean {
  return field === 'name'
}

/** The names of a schema's fields that can hold text, at every depth. */
function fieldsOf(schema: z.ZodType | undefined): readonly string[] {
  if (schema === undefined) return []
  const root = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as JsonSchema
  const found = new Set<string>()
  const visit = (node: unknown, field: string | null): void => {
    if (typeof node !== 'object' || node === null) return
    const { $ref, properties = {}, items, additionalProperties, type, enum: values, ...rest } = node as JsonSchema
    if (typeof $ref === 'string') visit((root.$defs as JsonSchema | undefined)?.[$ref.split('/').at(-1) ?? ''], field)
    if (type === 'string' && values === undefined && field !== null) found.add(field)
    for (const part of [rest.anyOf, rest.oneOf, rest.allOf].flat()) visit(part, field)
    for (const part of [items, additionalProperties]) visit(part, field)
    for (const [name, part] of Object.entries(properties as JsonSchema)) visit(part, name)
  }
  visit(root, null)
  return [...found]
}

/** How a thing is named: by what of it, and in which body. A query needs none. */
interface Way {
  /** The text that identifies the named thing. For a project it is its id. */
  readonly by: readonly (keyof Named)[]
  readonly body?: (value: string, made: string) => object
}

/** The texts that identify things, and their project. */
type Named = Things & { readonly project_id: string; readonly project: string }

const nothing: Named = { ...noThings, project_id: `pr${'a'.repeat(20)}`, project: 'no-such-project' }

const runtime = { template: 'base-small' }
const dockerfile = 'FROM scratch'
const hosts = ['api.example.com']

/** How each of these fields is asked about. `made` is a name that is free. */
const ways: Readonly<Record<string, Way>> = {
  'createRuntime template': { by: ['template_id', 'name'], body: (template) => ({ template }) },
  'createRuntime snapshot': { by: ['snapshot_id', 'name'], body: (snapshot) => ({ snapshot }) },
  'createRuntime secrets': {
    by: ['name'],
    body: (secret) => ({ ...runtime, secrets: [secret], network_policy: { allow: hosts.map((host) => ({ host })) } }),
  },
  'createRuntime network_policy': {
    by: ['policy_id', 'name'],
    body: (network_policy) => ({ ...runtime, network_policy }),
  },
  'setNetwork network_policy': { by: ['policy_id', 'name'], body: (network_policy) => ({ network_policy }) },
  'createBuild from_template': {
    by: ['template_id', 'name'],
    body: (from_template, made) => ({ name: made, from_template }),
  },
  'createBuild from_snapshot': {
    by: ['snapshot_id', 'name'],
    body: (from_snapshot, made) => ({ name: made, from_snapshot }),
  },
  'createBuild context_id': { by: ['context_id'], body: (context_id, name) => ({ name, dockerfile, context_id }) },
  'createBuild network_policy': {
    by: ['policy_id', 'name'],
    body: (network_policy, name) => ({ name, dockerfile, network_policy }),
  },
  'createSecret provider': { by: ['provider_id', 'name'], body: (provider, name) => ({ name, provider, hosts }) },
  'replaceSecret provider': { by: ['provider_id', 'name'], body: (provider) => ({ provider }) },
  'createKey project': { by: ['project_id', 'project'], body: (project, name) => ({ name, project }) },
  'startCommand session': { by: ['name'], body: (session) => ({ command: 'true', session, background: true }) },
  'listKeys project': { by: ['project_id', 'project'] },
  'listAudit project': { by: ['project_id', 'project'] },
  'listAudit key_id': { by: ['key_id'] },
  'listAudit subject': { by: ['runtime_id', 'secret_id', 'command_id', 'name'] },
  'listEvents subject': { by: ['runtime_id', 'template_id', 'secret_id', 'build_id'] },
  'listRuntimeMetrics runtime_id': { by: ['runtime_id'] },
  'listRuntimes runtime_id': { by: ['runtime_id'] },
  'listRuntimes parent': { by: ['runtime_id'] },
  'listRuntimes network_policy': { by: ['policy_id', 'name'] },
  'listRuntimes secret': { by: ['secret_id', 'name'] },
  'listRuntimes snapshot': { by: ['snapshot_id', 'name'] },
  'listRuntimes template': { by: ['template_id', 'name'] },
  'listRuntimes name': { by: ['name'] },
  'listTemplates name': { by: ['name'] },
  'listBuilds name': { by: ['name'] },
  'listBuilds template_id': { by: ['template_id'] },
  'listSnapshots name': { by: ['name'] },
  'listSnapshots runtime_id': { by: ['runtime_id'] },
}

/** An answer but for what is of that one request, and of what it asked for. */
function lasting({ status, text }: { readonly status: number; readonly text: string }, asked: string) {
  const passing = /"(?:request_id|command_id|started_at|ended_at|pid|duration_ms)":[^,}]*/g
  return [status, text.replaceAll(passing, '').replaceAll(asked, 'what was asked for')]
}

test('every schema field that names a resource has an example here', () => {
  expect(references.toSorted()).toEqual(Object.keys(ways).toSorted())
})

test('a reference to another project is the same as an unknown one', async () => {
  const server = await startTestServer({ builder: new FakeBuilder() })
  const another = await makeProject(server, 'another')
  const projectOf = async (ask: TestServer['ask']) => (await ask('GET', '/v1/agents/whoami')).json.project
  const { project_id, name: project } = await projectOf(server.ask)
  const foreign: Named = { ...(await makeThings(server.ask, 'of-somebody-else')), project_id, project }
  const own = await makeThings(another.ask, 'of-the-project')
  // So that there is an entry of what was tried with the key.
  const { key } = (await server.ask('POST', `/v1/agents/key/${foreign.key_id}/rotate`, { json: {} })).json
  await server.ask('DELETE', `/v1/agents/runtime/${foreign.runtime_id}`, { key })
  // So that the runtime is the parent of one.
  await server.ask('POST', `/v1/agents/runtime/${foreign.runtime_id}/fork`, { json: {} })
  let made = 0
  for (const [reference, { by, body }] of Object.entries(ways)) {
    const [name = '', field = ''] = reference.split(' ')
    const { method, path } = routes[name as RouteName] as Route
    const ask = (side: TestServer['ask'], ids: Things, value: string) => {
      const query = body === undefined ? `?${field}=${encodeURIComponent(value)}` : ''
      made += 1
      return side(method, fillPath(path, ids) + query, body === undefined ? {} : { json: body(value, `made-${made}`) })
    }
    for (const kind of by) {
      const theirs = lasting(await ask(another.ask, own, foreign[kind]), foreign[kind])
      const none = lasting(await ask(another.ask, own, nothing[kind]), nothing[kind])
      expect([reference, kind, ...theirs]).toEqual([reference, kind, ...none])
      // Its owner is answered something else: it was looked for.
      const owners = await ask(server.ask, foreign, foreign[kind])
      expect(owners.status < 300, `${reference} by ${kind}: ${owners.text}`).toBe(true)
      expect([reference, kind, ...lasting(owners, foreign[kind])]).not.toEqual([reference, kind, ...none])
    }
  }
})

test('a reference to another project in a build step is the same as an unknown one', async () => {
  const builder = new FakeBuilder()
  const server = await startTestServer({ builder })
  const another = await makeProject(server, 'another')
  const foreign = await makeThings(server.ask, 'of-somebody-else')
  const looked: unknown[] = []
  for (const find of ['findTemplate', 'findSnapshot'] as const) {
    const param = find === 'findTemplate' ? 'template_id' : 'snapshot_id'
    for (const asked of [foreign[param], foreign.name, noThings[param], noThings.name]) {
      builder.script = async ({ host }) => {
        const told = await host[find](asked).catch((error: Error) => error.message.replaceAll(asked, 'it'))
        looked.push(told)
        return undefined
      }
      const json = { name: 'other', dockerfile: `FROM scratch\nLABEL asked=${asked}` }
      const { build_id } = (await another.ask('POST', '/v1/agents/template/build', { json })).json
      await ended(another, build_id)
    }
    const [theirId, theirName, noId, noName] = looked.splice(0)
    for (const told of [theirId, theirName]) expect(told).toMatch(/^No \w+ (?:has the id|is named) it\.$/)
    expect([theirId, theirName]).toEqual([noId, noName])
  }
})
