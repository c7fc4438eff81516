import type { NewRuntime } from '@holt/sdk'

/** A create in the words of one client. */
export interface CreateLine {
  readonly client: string
  readonly text: string
}

/** The options of `holt create` by field. */
const options: Readonly<Record<string, string>> = {
  template: '--template',
  snapshot: '--snapshot',
  name: '--name',
  cpu: '--cpu',
  memory: '--memory',
  disk: '--disk',
  isolation: '--isolation',
  network_policy: '--network',
  on_timeout: '--on-timeout',
  timeout_secs: '--timeout',
  idle_timeout_secs: '--idle-timeout',
  env: '--env',
  metadata: '--metadata',
  secrets: '--secret',
}

/** Returns the lines that make the same runtime as a form, with each client. */
export function createLines(body: NewRuntime, url: string): readonly CreateLine[] {
  const fields = Object.entries(body)
  const json = JSON.stringify(body)
  const python = fields.map(([name, value]) => `${name}=${pythonOf(value)}`)
  return [
    { client: 'holt', text: ['holt create', ...fields.flatMap(optionOf)].join(' ') },
    { client: 'TypeScript', text: `await holt.runtimes.create(${fields.length === 0 ? '' : json})` },
    { client: 'Python', text: `holt.runtimes.create(${python.join(', ')})` },
    {
      client: 'curl',
      text: `curl ${url}/v1/agents/runtime -H "Authorization: Bearer $HOLT_API_KEY" --json ${quoted(json)}`,
    },
  ]
}

function optionOf([name, value]: readonly [string, unknown]): readonly string[] {
  if (name === 'auto_resume') return [value === true ? '--auto-resume' : '--no-auto-resume']
  const option = options[name]
  if (option === undefined) throw new Error(`createLines has no option for ${name}`)
  return valuesOf(value).flatMap((each) => [option, quoted(each)])
}

/** Returns the values of an option, which stands before each of them. */
function valuesOf(value: unknown): readonly string[] {
  if (value === null) return ['none']
  if (Array.isArray(value)) return value.map(String)
  if (typeof value === 'object') return Object.entries(value).map(([key, text]) => `${key}=${text}`)
  return [String(value)]
}

/** Returns a value in the words of Python. Texts, lists and maps of texts are as in JSON. */
export function pythonOf(value: unknown): string {
  if (value === null) return 'None'
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value)
}

/** Returns a text as one word of a shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
