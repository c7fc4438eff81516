import type { NewRuntime, PolicyBodyInput } from '@holt/sdk'
import { givenSize } from '../parts/given-size.ts'
import { pairsOf } from '../parts/pairs.ts'

/**
 * The texts of the form of a create. An empty one means the default of the service. `env` and
 * `metadata` have a `KEY=VALUE` in each line, and `hosts` and `deny` a host in each. Spaces or
 * commas separate the names of `secrets` and `presets`.
 */
export const emptyFields = {
  template: '',
  snapshot: '',
  name: '',
  cloud: '',
  region: '',
  spread: '',
  isolation: '',
  cpu: '',
  memory: '',
  disk: '',
  env: '',
  metadata: '',
  timeout: '',
  on_timeout: '',
  idle_timeout: '',
  auto_resume: '',
  /** `none`, `stored` for `network_policy`, or `own` for the fields after it. */
  network: '',
  network_policy: '',
  hosts: '',
  presets: '',
  all_hosts: '',
  deny: '',
  secrets: '',
}

/** The fields of the form by name. */
export type CreateFields = Readonly<typeof emptyFields>

/** Returns the body of a create. The service itself checks the values, and names each wrong one. */
export function bodyOf(fields: CreateFields): NewRuntime {
  const { template, snapshot, name, cloud, region, spread, isolation, on_timeout } = fields
  const texts = { template, snapshot, name, cloud, region, spread, isolation, on_timeout }
  const given = {
    ...Object.fromEntries(Object.entries(texts).map(([field, text]) => [field, text.trim() || undefined])),
    cpu: fields.cpu.trim() === '' ? undefined : Number(fields.cpu),
    memory: givenSize(fields.memory),
    disk: givenSize(fields.disk),
    env: pairsOf(fields.env),
    metadata: pairsOf(fields.metadata),
    timeout_secs: secondsOf(fields.timeout),
    idle_timeout_secs: secondsOf(fields.idle_timeout),
    auto_resume: fields.auto_resume === '' ? undefined : fields.auto_resume === 'yes',
    network_policy: networkOf(fields),
    secrets: fields.secrets.trim() === '' ? undefined : namesOf(fields.secrets),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function networkOf(fields: CreateFields): string | null | PolicyBodyInput | undefined {
  switch (fields.network) {
    case 'none':
      return null
    case 'stored':
      return fields.network_policy.trim() || undefined
    case 'own':
      return {
        allow: linesOf(fields.hosts).map(ruleOf),
        include: namesOf(fields.presets) as NonNullable<PolicyBodyInput['include']>,
        ...(fields.all_hosts === 'yes' ? { allow_all_hosts: true } : {}),
        ...(fields.deny.trim() === '' ? {} : { deny: linesOf(fields.deny).map(networkText) }),
      }
    default:
      return undefined
  }
}

/** Reads `HOST`, `HOST:PORT`, `HOST:PORT,PORT` or `HOST:*`, as `holt create --allow` does. */
function ruleOf(text: string): NonNullable<PolicyBodyInput['allow']>[number] {
  const [, host, ports] = /^([^:]+|\[[0-9a-f:/.]+\])(?::(\*|\d{1,5}(?:,\d{1,5})*))?$/i.exec(text) ?? []
  // The service says what is wrong with it.
  if (host === undefined) return { host: text }
  const bare = host.replace(/^\[|\]$/g, '')
  if (ports === '*') return { host: bare, all_ports: true }
  return ports === undefined ? { host: bare } : { host: bare, ports: ports.split(',').map(Number) }
}

/** Returns a single address as a network. */
function networkText(text: string): string {
  return text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`
}

const unitSecs: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Returns a duration such as `90`, `30m`, `2h` or `1d` in seconds. Null: no end. */
function secondsOf(duration: string): number | null | undefined {
  const text = duration.trim()
  if (text === '') return undefined
  if (text === 'none') return null
  const [, amount, unit = 's'] = /^(\d+)([smhd])?$/.exec(text) ?? []
  return amount === undefined ? Number.NaN : Number(amount) * (unitSecs[unit] ?? 1)
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}

function namesOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '')
}
