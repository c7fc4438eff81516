import { eventTypePatterns, presetNames } from '@holt/protocol'
import type { Runtime } from '@holt/sdk'
import { findRuntime, liveRuntimes } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import type { Candidate, Sources } from './candidates.ts'

/** The time limit of a completion, in milliseconds. A person waits for it after a key press. */
const timeoutMs = 1_500
const client = () => connect({ maxRetries: 0, timeoutSecs: timeoutMs / 1000 })

/** The names that only the service knows. */
export const sources: Sources = {
  runtime: runtimeNames,
  source: async () => (await runtimeNames()).map(({ value, about }) => ({ value: `${value}:`, about })),
  destination: async () => (await runtimeNames()).map(({ value, about }) => ({ value: `${value}:`, about })),
  location: async () => (await runtimeNames()).map(({ value, about }) => ({ value: `${value}:`, about })),
  of: runtimeNames,
  snapshot: snapshotNames,
  fromSnapshot: snapshotNames,
  template: templateNames,
  fromTemplate: templateNames,
  tag: templateNames,
  build: async ([build]) => (build === undefined ? buildIds() : []),
  policy: policyNames,
  network: policyNames,
  secret: secretNames,
  provider: async () =>
    (await client().secrets.providers.list().all()).map(({ name, settings }) => ({
      value: name,
      about: settings.type,
    })),
  type: async () => eventTypePatterns.map((value) => ({ value, about: 'a type of event' })),
  webhook: async ([webhook]) => (webhook === undefined ? webhookIds() : []),
  delivery: async ([webhook]) => (webhook === undefined ? [] : deliveryIds(webhook)),
  include: async () => presetNames.map((name) => ({ value: name, about: 'a preset' })),
  key: keyNames,
  joinToken: async () =>
    (await client().hosts.listJoinTokens().all()).map(({ token_id, expires_at }) => ({
      value: token_id,
      about: expires_at,
    })),
  project: async () =>
    (await client().projects.list().all()).map(({ name, project_id }) => ({ value: name, about: project_id })),
  port: async ([runtime, ...others]) => {
    if (runtime === undefined || others.length > 0) return []
    const ports = await (await findRuntime(client(), runtime)).ports.list()
    return ports.map((one) => ({ value: String(one.port), about: one.public ? 'public' : 'private' }))
  },
  command: commandsOf,
  attach: commandsOf,
  session: async ([runtime]) => {
    if (runtime === undefined) return []
    const sessions = await (await findRuntime(client(), runtime)).commands.sessions({ limit: 100 }).all()
    return sessions.map(({ name, cwd }) => ({ value: name, about: cwd }))
  },
}

/**
 * Returns keys by their names. A key has its id instead if several have the name, or a shell would
 * need quotes.
 */
async function keyNames(): Promise<Candidate[]> {
  const keys = await client().keys.list({ limit: 100 }).all()
  const canStand = (name: string) => /^[\w.-]+$/.test(name) && keys.filter((key) => key.name === name).length === 1
  return keys.map(({ key_id, name }) =>
    canStand(name) ? { value: name, about: key_id } : { value: key_id, about: name },
  )
}

async function templateNames(): Promise<Candidate[]> {
  const templates = await client().templates.list({ limit: 100 }).all()
  return templates.map(({ name, tag, kind, state }) => ({
    value: tag === 'latest' ? name : `${name}:${tag}`,
    about: `${kind}, ${state}`,
  }))
}

async function snapshotNames(): Promise<Candidate[]> {
  const snapshots = await client().snapshots.list({ limit: 100 }).all()
  return snapshots.map(({ snapshot_id, name, kind, template }) => ({
    value: name ?? snapshot_id,
    about: `${kind}, ${template.name}`,
  }))
}

async function buildIds(): Promise<Candidate[]> {
  const { data } = await client().builds.list({ limit: 20 }).page()
  return data.map(({ build_id, name, tag, status }) => ({ value: build_id, about: `${name}:${tag}, ${status}` }))
}

async function webhookIds(): Promise<Candidate[]> {
  const webhooks = await client().webhooks.list({ limit: 100 }).all()
  return webhooks.map(({ webhook_id, url, state }) => ({ value: webhook_id, about: `${url}, ${state}` }))
}

async function deliveryIds(webhook: string): Promise<Candidate[]> {
  const { data } = await client().webhooks.deliveries(webhook, { limit: 20 }).page()
  return data.map(({ delivery_id, type, state }) => ({ value: delivery_id, about: `${type}, ${state}` }))
}

async function policyNames(): Promise<Candidate[]> {
  const policies = await client().policies.list().all()
  return policies.map(({ name, include, allow }) => ({
    value: name,
    about: [...include, ...allow.map(({ host }) => host)].slice(0, 4).join(' '),
  }))
}

async function secretNames(): Promise<Candidate[]> {
  return (await client().secrets.list().all()).map(({ name, env_name }) => ({ value: name, about: env_name }))
}

async function commandsOf([runtime, ...others]: readonly string[]): Promise<Candidate[]> {
  if (runtime === undefined || others.length > 0) return []
  const { data } = await (await findRuntime(client(), runtime)).commands.list({ limit: 20 }).page()
  return data.map(({ command_id, command, argv }) => ({ value: command_id, about: command ?? (argv ?? []).join(' ') }))
}

async function runtimeNames(): Promise<Candidate[]> {
  return (await liveRuntimes(client())).map(candidateOf)
}

function candidateOf({ runtime_id, name, template, state }: Runtime): Candidate {
  return { value: name ?? runtime_id, about: `${template.name}, ${state}` }
}
