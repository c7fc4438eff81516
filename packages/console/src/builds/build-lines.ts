import type { CreateBuildInput } from '@holt/sdk'
import type { ClientLine } from '../parts/client-line.ts'
import { shellWord } from '../parts/shell-word.ts'
import { pythonOf } from '../runtimes/create-lines.ts'

/** A build to write down. */
interface WrittenBuild {
  /** The body of the build, with any values of secrets: the lines name variables in their place. */
  readonly body: CreateBuildInput
  /** True if the lines send the files of the directory. */
  readonly sendsFiles: boolean
  /** The address of the service. */
  readonly url: string
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns the lines that make the same build with each client, in a directory with the Dockerfile
 * and its files. Values of secrets come from variables of the environment.
 */
export function buildLines({ body, sendsFiles, url }: WrittenBuild): readonly ClientLine[] {
  const { dockerfile: _, context_id: __, build_secrets = {}, ...fields } = body
  const secrets = Object.keys(build_secrets)
  return [
    { client: 'holt', text: holtLine(fields, secrets) },
    { client: 'TypeScript', text: typeScriptLine(fields, secrets) },
    { client: 'Python', text: pythonLine(fields, secrets) },
    { client: 'curl', text: curlLine({ body, sendsFiles, url }, secrets) },
  ]
}

/** Returns the environment variable with the value of a secret: `NPM_TOKEN` for `npm-token`. */
function variableOf(id: string): string {
  return id
    .toUpperCase()
    .replaceAll(/[^A-Z0-9_]/g, '_')
    .replace(/^(?=\d)/, '_')
}

function labelIn({ name, tag }: Fields): string {
  return tag === undefined || tag === 'latest' ? String(name ?? '') : `${name ?? ''}:${tag}`
}

/** The options of `holt template build` by field. */
const options: Readonly<Record<string, string>> = {
  target: '--target',
  build_args: '--build-arg',
  start_cmd: '--start-cmd',
  ready_cmd: '--ready-cmd',
  ready_timeout_secs: '--ready-timeout',
  on_restore: '--on-restore',
  disk: '--disk',
  memory: '--memory',
  cpu: '--cpu',
  env: '--env',
  user: '--user',
  workdir: '--workdir',
  timeout_secs: '--timeout',
}

function holtLine(fields: Fields, secrets: readonly string[]): string {
  return [
    `holt template build -t ${shellWord(labelIn(fields))} .`,
    ...Object.entries(fields).flatMap(([name, value]) => {
      const option = options[name]
      return option === undefined ? [] : valuesOf(value).map((each) => `${option} ${shellWord(each)}`)
    }),
    ...secrets.map((id) => `--secret ${shellWord(`id=${id},env=${variableOf(id)}`)}`),
    ...(fields.no_cache === true ? ['--no-cache'] : []),
  ].join(' ')
}

function valuesOf(value: unknown): readonly string[] {
  if (typeof value === 'object' && value !== null) return Object.entries(value).map(([key, text]) => `${key}=${text}`)
  return [String(value)]
}

/** The words of a client's builder. */
interface Words {
  readonly method: (name: string) => string
  readonly value: (value: unknown) => string
  readonly variable: (name: string) => string
  /** Returns the argument of a call by name: an option in TypeScript, a keyword in Python. */
  readonly seconds: (value: unknown) => string
}

/** The methods of the builder that take the value of a field, in both clients. */
const plainMethods = ['start_cmd', 'on_restore', 'disk', 'memory', 'cpu', 'user', 'workdir', 'timeout_secs']

function callsOf(fields: Fields, secrets: readonly string[], words: Words): string {
  const { method, value, variable, seconds } = words
  const pairs = (name: string, of: unknown) =>
    Object.entries((of ?? {}) as Fields).map(([key, text]) => `.${method(name)}(${value(key)}, ${value(text)})`)
  const calls = plainMethods.flatMap((name) =>
    fields[name] === undefined ? [] : [`.${method(name.replace('timeout_secs', 'timeout'))}(${value(fields[name])})`],
  )
  const { ready_cmd, ready_timeout_secs, env, build_args, no_cache } = fields
  const limit = ready_timeout_secs === undefined ? '' : `, ${seconds(ready_timeout_secs)}`
  return [
    ...calls,
    ...(ready_cmd === undefined ? [] : [`.${method('ready_cmd')}(${value(ready_cmd)}${limit})`]),
    ...(env === undefined ? [] : [`.${method('runtime_env')}(${value(env)})`]),
    ...pairs('build_arg', build_args),
    ...secrets.map((id) => `.${method('build_secret')}(${value(id)}, ${variable(variableOf(id))})`),
    ...(no_cache === true ? [`.${method('no_cache')}()`] : []),
  ].join('')
}

function typeScriptLine(fields: Fields, secrets: readonly string[]): string {
  const value = (each: unknown) => JSON.stringify(each)
  const calls = callsOf(fields, secrets, {
    method: (name) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    value,
    variable: (name) => `process.env.${name} ?? ''`,
    seconds: (each) => `{ timeoutSecs: ${each} }`,
  })
  const target = fields.target === undefined ? '' : `, { target: ${value(fields.target)} }`
  return `import { Template } from '@holt/sdk'

await Template(${value(labelIn(fields))}).fromDockerfile('./Dockerfile'${target})${calls}.buildAndWait({ holt })`
}

function pythonLine(fields: Fields, secrets: readonly string[]): string {
  const calls = callsOf(fields, secrets, {
    method: (name) => name,
    value: pythonOf,
    variable: (name) => `os.environ["${name}"]`,
    seconds: (each) => `timeout_secs=${each}`,
  })
  const target = fields.target === undefined ? '' : `, target=${pythonOf(fields.target)}`
  const begin = `Template.from_dockerfile("./Dockerfile"${target}).name(${pythonOf(labelIn(fields))})`
  return `${secrets.length === 0 ? '' : 'import os\n'}from holt import Template

${begin}${calls}.build_and_wait()`
}

/** Returns the commands of curl: one sends the files, and one starts the build. */
function curlLine({ body, sendsFiles, url }: WrittenBuild, secrets: readonly string[]): string {
  const { context_id: _, build_secrets: __, ...fields } = body
  const key = '-H "Authorization: Bearer $HOLT_API_KEY"'
  const base = `${url}/v1/agents/template`
  const json = JSON.stringify(fields)
  const more = [
    ...(sendsFiles ? [`"context_id":"'"$CONTEXT"'"`] : []),
    ...(secrets.length === 0
      ? []
      : [`"build_secrets":{${secrets.map((id) => `${JSON.stringify(id)}:"'"$${variableOf(id)}"'"`).join(',')}}`]),
  ]
  // A single quote within the JSON ends the word of the shell, and begins it again.
  const begun = json.slice(0, -1).replaceAll("'", `'\\''`)
  const text = `curl ${base}/build ${key} --json '${[begun, ...more].join(',')}}'`
  if (!sendsFiles) return text
  const id = `sed 's/.*"context_id":"\\([^"]*\\)".*/\\1/'`
  const send = `curl -s ${base}/context ${key} -H 'Content-Type: application/octet-stream' --data-binary @-`
  return `CONTEXT=$(tar -c . | ${send} | ${id})\n${text}`
}
