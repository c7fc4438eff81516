import type { Stop, TestRun } from './test-run.ts'

/** The surroundings of a script. */
export interface ScriptPlace {
  readonly variables: Map<string, string>
  readonly env: Readonly<Record<string, string>>
}

/** The end of a script. */
export type ScriptEnd = 'ok' | 'error' | Stop | 'out_of_memory'

type Statement = (
  run: TestRun,
  words: { readonly first: string; readonly rest: string; readonly all: string },
  place: ScriptPlace,
) => ScriptEnd | Promise<ScriptEnd> | undefined

const shown = (text: string) => ({ data: { 'text/plain': text }, metadata: {}, main: false })

/** The statements of the language of tests. Each is a line: its name, and its words. */
const statements: Readonly<Record<string, Statement>> = {
  print: (run, { all }) => void run.add({ type: 'stdout', text: `${all}\n` }),
  warn: (run, { all }) => void run.add({ type: 'stderr', text: `${all}\n` }),
  fill: (run, { first }) => void run.add({ type: 'stdout', text: 'x'.repeat(Number(first)) }),
  show: (run, { first, rest }) =>
    void run.add({ type: 'display', data: { [first]: rest, 'text/plain': '<shown>' }, metadata: {}, main: false }),
  json: (run, { all }) =>
    void run.add({ type: 'display', data: { 'application/json': JSON.parse(all) }, metadata: {}, main: false }),
  data: (run, { first, rest }) =>
    void run.add({ type: 'display', data: { [first]: JSON.parse(rest) }, metadata: {}, main: false }),
  name: (run, { first, rest }) => void run.add({ type: 'display', ...shown(rest), display_id: first }),
  update: (run, { first, rest }) => void run.add({ type: 'update_display', ...shown(rest), display_id: first }),
  clear: (run, { first }) => void run.add({ type: 'clear_output', wait: first === 'wait' }),
  result: (run, { all }) => void run.add({ type: 'result', ...shown(all), main: true }),
  set: (_, { first, rest }, { variables }) => void variables.set(first, rest),
  get: (run, { first }, { variables }) => {
    const value = variables.get(first)
    if (value === undefined) return raise(run, 'NameError', `name '${first}' is not defined`)
    run.add({ type: 'result', ...shown(value), main: true })
    return undefined
  },
  env: (run, { first }, { env }) => void run.add({ type: 'stdout', text: `${env[first] ?? ''}\n` }),
  raise: (run, { first, rest }) => raise(run, first, rest),
  wait: (run) => run.stopped,
  die: (run) => {
    run.stop('kernel_died')
    return 'kernel_died'
  },
  swell: () => 'out_of_memory',
}

function raise(run: TestRun, name: string, value: string): ScriptEnd {
  const traceback = ['Traceback (most recent call last)', `\u001b[31m${name}\u001b[0m: ${value}`]
  run.add({ type: 'error', name, value, traceback })
  return 'error'
}

/** Runs a script of the language of tests, and returns its end. */
export async function runScript(run: TestRun, code: string, place: ScriptPlace): Promise<ScriptEnd> {
  for (const line of code.split('\n').filter((text) => text.trim() !== '')) {
    const [, name = '', all = ''] = /^\s*(\S+) ?(.*)$/.exec(line) ?? []
    const [, first = '', rest = ''] = /^(\S*) ?(.*)$/.exec(all) ?? []
    // A fuzzer writes words such as `constructor`, too.
    const statement = Object.hasOwn(statements, name) ? statements[name] : undefined
    if (statement === undefined) return raise(run, 'SyntaxError', `invalid syntax: ${name}`)
    const end = await statement(run, { first, rest, all }, place)
    if (end !== undefined) return end
  }
  return 'ok'
}
