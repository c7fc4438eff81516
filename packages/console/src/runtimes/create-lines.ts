import type { NewRuntime, PolicyBodyInput } from '@holt/sdk'
import type { ClientLine } from '../parts/client-line.ts'
import { shellWord } from '../parts/shell-word.ts'

/** The options of `holt create` by field. */
const options: Readonly<Record<string, string>> = {
  template: '--template',
  snapshot: '--snapshot',
  name: '--name',
  cloud: '--cloud',
  region: '--region',
  spread: '--spread',
  cpu: '--cpu',
  memory: '--memory',
  disk: '--disk',
  isolation: '--isolation',
  on_timeout: '--on-timeout',
  timeout_secs: '--timeout',
  idle_timeout_secs: '--idle-timeout',
  env: '--env',
  metadata: '--metadata',
  secrets: '--secret',
}

/** Returns the lines that make the same runtime as a form, with each client. */
export function createLines(body: NewRuntime, url: string): readonly ClientLine[] {
  const fields = Object.entries(body)
  const json = JSON.stringify(body)
  const python = fields.map(([name, value]) => `${name}=${pythonOf(value)}`)
  return [
    { client: 'holt', text: ['holt create', ...fields.flatMap(optionOf)].join(' ') },
    { client: 'TypeScript', text: `await holt.runtimes.create(${fields.length === 0 ? '' : json})` },
    { client: 'Python', text: `holt.runtimes.create(${python.join(', ')})` },
    {
      client: 'curl',
      text: `curl ${url}/v1/agents/runtime -H "Authorization: Bearer $HOLT_API_KEY" --json ${shellWord(json)}`,
    },
  ]
}

function optionOf([name, value]: readonly [string, unknown]): readonly string[] {
  if (name === 'auto_resume') return [value === true ? '--auto-resume' : '--no-auto-resume']
  if (name === 'network_policy') return networkOptions(value as NewRuntime['network_policy'])
  const option = options[name]
  if (option === undefined) throw new Error(`createLines has no option for ${name}`)
  return valuesOf(value).flatMap((each) => [option, shellWord(each)])
}

function networkOptions(policy: NewRuntime['network_policy']): readonly string[] {
  if (policy == null) return ['--no-network']
  if (typeof policy === 'string') return ['--network', shellWord(policy)]
  const { allow = [], include = [], allow_all_hosts = false, deny = [] } = policy
  return [
    ...allow.flatMap((rule) => ['--allow', shellWord(hostText(rule))]),
    ...include.flatMap((preset) => ['--include', shellWord(preset)]),
    ...(allow_all_hosts ? ['--allow-all-hosts'] : []),
    ...deny.flatMap((network) => ['--deny', shellWord(network)]),
  ]
}

/** Returns a rule as `--allow` takes it. */
function hostText({ host, ports, all_ports }: NonNullable<PolicyBodyInput['allow']>[number]): string {
  const bracketed = host.includes(':') ? `[${host}]` : host
  if (all_ports === true) return `${bracketed}:*`
  return ports === undefined ? bracketed : `${bracketed}:${ports.join(',')}`
}

/** Returns the values of an option, which stands before each of them. */
function valuesOf(value: unknown): readonly string[] {
  if (value === null) return ['none']
  if (Array.isArray(value)) return value.map(String)
  if (typeof value === 'object') return Object.entries(value).map(([key, text]) => `${key}=${text}`)
  return [String(value)]
}

/** Returns a value in the words of Python. */
export function pythonOf(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const pairs = Object.entries(value as object).map(([key, each]) => `${JSON.stringify(key)}: ${pythonOf(each)}`)
  return `{${pairs.join(', ')}}`
}
