import type { NewRuntime } from '@holt/sdk'

/** A create in the words of one client. */
export interface CreateLine {
  readonly client: string
  readonly text: string
}

/** The options of `holt create` by field. */
const options: Readonly<Record<string, string>> = {
  template: '--template',
  name: '--name',
  cpu: '--cpu',
  memory: '--memory',
  disk: '--disk',
  isolation: '--isolation',
  network_policy: '--network',
  on_timeout: '--on-timeout',
}

/** Returns the lines that make the same runtime as a form, with each client. */
export function createLines(body: NewRuntime, url: string): readonly CreateLine[] {
  const fields = Object.entries(body)
  const json = JSON.stringify(body)
  const python = fields.map(([name, value]) => `${name}=${value === null ? 'None' : JSON.stringify(value)}`)
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
  if (name === 'timeout_secs') return ['--timeout', value === null ? 'none' : `${value}`]
  const option = options[name]
  if (option === undefined) throw new Error(`createLines has no option for ${name}`)
  return [option, quoted(String(value))]
}

/** Returns a text as one word of a shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
