import { makeId } from '@holt/protocol'
import { ended } from './fake-builder.ts'
import type { TestServer } from './start-test-server.ts'
import { tarOf } from './tar-of.ts'

/**
 * The ids of things by the parameter that stands for them in paths, and `name`, which all of them
 * that have one bear.
 */
export type Things = Readonly<Record<ThingParam, string>>

/** The text that identifies a thing in a path or a field. */
type ThingParam =
  | 'runtime_id'
  | 'command_id'
  | 'key_id'
  | 'template_id'
  | 'policy_id'
  | 'secret_id'
  | 'provider_id'
  | 'build_id'
  | 'webhook_id'
  | 'delivery_id'
  | 'snapshot_id'
  | 'context_id'
  | 'run_id'
  | 'name'
  | 'port'

/**
 * Makes something of each kind in the project whose `ask` it is, under one name; a port of the
 * runtime is made public.
 */
export async function makeThings(ask: TestServer['ask'], name: string, port = '3000'): Promise<Things> {
  const make = async (path: string, json: object) => {
    const answer = await ask('POST', `/v1/agents/${path}`, { json })
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`)
    return answer.json
  }
  const { runtime_id } = await make('runtime', { name })
  const { command_id } = await make(`runtime/${runtime_id}/commands`, { command: 'sleep', background: true })
  await make(`runtime/${runtime_id}/commands`, { command: 'cd /tmp', session: name })
  const { key_id } = await make('key', { name, scopes: ['runtime:read'] })
  const { policy_id } = await make('network-policy', { name, include: ['pypi'] })
  const { secret_id } = await make('secret', { name, value: 'hunter22', hosts: ['api.example.com'] })
  const { provider_id } = await make('identity-provider', { name, type: 'static', value: 'hunter22' })
  const { build_id } = await make('template/build', { name, dockerfile: 'FROM scratch' })
  await ended({ ask }, build_id)
  const { webhook_id } = await make('webhook', { url: `https://hooks.example.com/${name}` })
  const { delivery_id } = await make(`webhook/${webhook_id}/test`, {})
  const { template_id } = (await ask('GET', `/v1/agents/template/${name}`)).json
  const { context_id } = (await ask('POST', '/v1/agents/template/context', { body: await tarOf({ a: name }) })).json
  const { snapshot_id } = await make(`runtime/${runtime_id}/snapshot`, { name, kind: 'filesystem' })
  await ask('PATCH', `/v1/agents/runtime/${runtime_id}/ports/${port}`, { json: { public: true } })
  return {
    runtime_id,
    command_id,
    key_id,
    template_id,
    policy_id,
    secret_id,
    provider_id,
    build_id,
    webhook_id,
    delivery_id,
    snapshot_id,
    context_id,
    run_id: makeId('code_run'),
    name,
    port,
  }
}

/** Ids of the right form, and a name, that nothing has. */
export const noThings: Things = {
  runtime_id: `rt${'a'.repeat(20)}`,
  command_id: `cm${'a'.repeat(20)}`,
  key_id: `ky${'a'.repeat(20)}`,
  template_id: `tm${'a'.repeat(20)}`,
  policy_id: `np${'a'.repeat(20)}`,
  secret_id: `se${'a'.repeat(20)}`,
  provider_id: `ip${'a'.repeat(20)}`,
  build_id: `bd${'a'.repeat(20)}`,
  webhook_id: `wh${'a'.repeat(20)}`,
  delivery_id: `wd${'a'.repeat(20)}`,
  snapshot_id: `sn${'a'.repeat(20)}`,
  context_id: `cx${'a'.repeat(20)}`,
  run_id: `cr${'a'.repeat(20)}`,
  name: 'no-such-thing',
  port: '4000',
}

/**
 * A route's path with ids in it. Throws for a parameter that has none: its path would lead nowhere,
 * and that is a 404 as well.
 */
export function fillPath(path: string, ids: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, param: string) => {
    const id = ids[param]
    if (id === undefined) throw new Error(`${path} has no ${param} here`)
    return encodeURIComponent(id)
  })
}
