import { readFileSync } from 'node:fs'

/** The published packages of one environment, pinned. */
export interface ClientSet {
  readonly name: string
  readonly language: 'javascript' | 'python'
  readonly packages: Readonly<Record<string, string>>
  /** True for the versions that the examples themselves name. */
  readonly isNewest: boolean
}

const javascript = (name: string, packages: Readonly<Record<string, string>>, isNewest = false): ClientSet => ({
  name: `javascript-${name}`,
  language: 'javascript',
  packages,
  isNewest,
})

const python = (name: string, packages: Readonly<Record<string, string>>, isNewest = false): ClientSet => ({
  name: `python-${name}`,
  language: 'python',
  packages,
  isNewest,
})

const example = (file: string) => readFileSync(new URL(`../../examples/e2b/${file}`, import.meta.url), 'utf8')

const { dependencies: newestJavaScript } = JSON.parse(example('package.json')) as {
  readonly dependencies: Readonly<Record<string, string>>
}

const newestPython = Object.fromEntries(
  example('requirements.txt')
    .trim()
    .split('\n')
    .map((line) => line.split('==') as [string, string]),
)

/** Every environment that the examples run in. */
export const clientSets: readonly ClientSet[] = [
  javascript('newest', newestJavaScript, true),
  python('newest', newestPython, true),
  python('openai-agents', { 'openai-agents[e2b]': '0.24.0' }),
  python('deep-agents', { 'langchain-e2b': '0.0.6' }),
  javascript('2.50.0', { e2b: '2.50.0', '@e2b/code-interpreter': '2.8.0' }),
  javascript('2.45.0', { e2b: '2.45.0', '@e2b/code-interpreter': '2.8.0' }),
  javascript('1.13.2', { e2b: '1.13.2', '@e2b/code-interpreter': '1.5.1' }),
  python('2.45.1', { e2b: '2.45.1', 'e2b-code-interpreter': '2.8.1' }),
  python('2.31.0', { e2b: '2.31.0', 'e2b-code-interpreter': '2.8.1' }),
  python('2.20.3', { e2b: '2.20.3', 'e2b-code-interpreter': '2.6.2' }),
  python('1.11.1', { e2b: '1.11.1', 'e2b-code-interpreter': '1.5.2' }),
]

/** The way in which a client finds the service: one address without TLS, or names with it. */
type Mode = 'address' | 'domain'

/** An example in one environment and one mode. */
export interface ExampleRun {
  /** The row of the acceptance list. */
  readonly row: number
  readonly file: string
  readonly set: string
  readonly mode: Mode
  /** True if `npm test` runs it. */
  readonly quick: boolean
}

interface Example {
  readonly row: number
  readonly file: string
  readonly set: string
  readonly modes: readonly Mode[]
  readonly quick?: boolean
}

const both: readonly Mode[] = ['address', 'domain']

const examples: readonly Example[] = [
  { row: 1, file: 'sdk.mjs', set: 'javascript-newest', modes: both, quick: true },
  { row: 1, file: 'ports.mjs', set: 'javascript-newest', modes: ['domain'], quick: true },
  { row: 2, file: 'sdk.py', set: 'python-newest', modes: both, quick: true },
  { row: 2, file: 'sdk_async.py', set: 'python-newest', modes: both, quick: true },
  { row: 3, file: 'code-interpreter.mjs', set: 'javascript-newest', modes: both },
  { row: 3, file: 'code_interpreter.py', set: 'python-newest', modes: both },
  { row: 4, file: 'cli.sh', set: 'javascript-newest', modes: both },
  { row: 5, file: 'openai_agents.py', set: 'python-openai-agents', modes: both },
  { row: 6, file: 'computesdk.mjs', set: 'javascript-newest', modes: ['domain'] },
  { row: 7, file: 'template.mjs', set: 'javascript-newest', modes: ['domain'] },
  { row: 8, file: 'deep_agents.py', set: 'python-deep-agents', modes: both },
]

/** The versions of the matrix besides the newest, each with its example of a command and a file. */
const matrix: readonly Example[] = clientSets
  .filter(({ name, isNewest }) => !isNewest && /-\d/.test(name))
  .flatMap(({ name: set, language }): Example[] => [
    { row: 16, file: language === 'python' ? 'old_sdk.py' : 'old-sdk.mjs', set, modes: ['domain'] },
    {
      row: 16,
      file: language === 'python' ? 'code_interpreter.py' : 'code-interpreter.mjs',
      set,
      modes: ['domain'],
    },
  ])

/** Every run of an example. */
export const exampleRuns: readonly ExampleRun[] = [...examples, ...matrix].flatMap(
  ({ modes, quick = false, ...rest }) => modes.map((mode) => ({ ...rest, mode, quick })),
)
