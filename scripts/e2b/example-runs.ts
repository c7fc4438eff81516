import { clientSets, shareOf } from '@holt/testkit'

/** The way in which a client finds the service: one address without TLS, or names with it. */
type Mode = 'address' | 'domain'

/** Something that the service must have besides its API. `prepare-example.ts` prepares it. */
export type Need = 'code interpreter' | 'desktop' | 'python image' | 'debian archive'

/** An example in one environment and one mode. */
export interface ExampleRun {
  /** The row of the acceptance list. */
  readonly row: number
  readonly file: string
  readonly set: string
  readonly mode: Mode
  readonly needs?: Need
}

interface Example {
  readonly row: number
  readonly file: string
  readonly set: string
  readonly modes: readonly Mode[]
  readonly needs?: Need
  /** True if `npm test` runs it, in one of its modes. */
  readonly quick?: boolean
}

const both: readonly Mode[] = ['address', 'domain']

const examples: readonly Example[] = [
  { row: 1, file: 'sdk.mjs', set: 'javascript-sdk', modes: both, quick: true },
  { row: 1, file: 'ports.mjs', set: 'javascript-sdk', modes: ['domain'], quick: true },
  { row: 2, file: 'sdk.py', set: 'python-sdk', modes: both, quick: true },
  { row: 2, file: 'sdk_async.py', set: 'python-sdk', modes: both, quick: true },
  { row: 3, file: 'code-interpreter.mjs', set: 'javascript-newest', modes: both, needs: 'code interpreter' },
  { row: 3, file: 'code_interpreter.py', set: 'python-newest', modes: both, needs: 'code interpreter' },
  { row: 4, file: 'cli.sh', set: 'javascript-newest', modes: both },
  { row: 5, file: 'openai_agents.py', set: 'python-openai-agents', modes: both },
  { row: 6, file: 'computesdk.mjs', set: 'javascript-newest', modes: ['domain'] },
  { row: 7, file: 'template.mjs', set: 'javascript-sdk', modes: ['domain'], needs: 'python image' },
  { row: 7, file: 'template.py', set: 'python-sdk', modes: ['domain'], needs: 'python image' },
  { row: 8, file: 'deep_agents.py', set: 'python-deep-agents', modes: both },
  { row: 9, file: 'smolagents_executor.py', set: 'python-smolagents', modes: both, needs: 'code interpreter' },
  { row: 10, file: 'mastra.mjs', set: 'javascript-newest', modes: both, needs: 'debian archive' },
  { row: 11, file: 'crewai_tools_exec.py', set: 'python-crewai-tools', modes: ['domain'], needs: 'code interpreter' },
  { row: 14, file: 'adk_plugin.py', set: 'python-adk', modes: both, needs: 'code interpreter' },
  { row: 14, file: 'agno_tools.py', set: 'python-agno', modes: both, needs: 'code interpreter' },
  { row: 14, file: 'haystack_tools.py', set: 'python-haystack', modes: both },
  { row: 14, file: 'verifiers_runtime.py', set: 'python-verifiers', modes: both, needs: 'python image' },
  { row: 12, file: 'harbor_task.py', set: 'python-harbor', modes: both, needs: 'python image' },
  { row: 12, file: 'harbor_networks.py', set: 'python-harbor', modes: ['domain'], needs: 'python image' },
  { row: 13, file: 'inspect_eval.py', set: 'python-inspect', modes: both },
  { row: 15, file: 'desktop.mjs', set: 'javascript-newest', modes: ['domain'], needs: 'desktop' },
  { row: 15, file: 'desktop.py', set: 'python-desktop', modes: ['domain'], needs: 'desktop' },
]

/** The versions of the matrix besides the newest, each with its example of a command and a file. */
const matrix: readonly Example[] = clientSets
  .filter(({ name }) => /-\d/.test(name))
  .flatMap(({ name: set, language }): Example[] => [
    { row: 16, file: language === 'python' ? 'old_sdk.py' : 'old-sdk.mjs', set, modes: ['domain'] },
    {
      row: 16,
      file: language === 'python' ? 'code_interpreter.py' : 'code-interpreter.mjs',
      set,
      modes: ['domain'],
      needs: 'code interpreter',
    },
  ])

/** Every run of an example. */
export const exampleRuns: readonly ExampleRun[] = [...examples, ...matrix].flatMap(({ modes, ...rest }) =>
  modes.map((mode) => ({ ...rest, mode })),
)

/** Returns the runs of `npm test`: each quick example, in a short run in one of its modes. */
export function quickRuns(): readonly ExampleRun[] {
  return examples
    .filter(({ quick }) => quick === true)
    .flatMap(({ modes, ...rest }) =>
      shareOf(modes, 1 / 2, `mode of ${rest.file}`).map((mode): ExampleRun => ({ ...rest, mode })),
    )
}

/** The sets with no other packages than those of E2B itself. */
const ofE2bItself = new Set(['javascript-sdk', 'python-sdk', 'python-newest'])

/** Returns the runs that tell whether the newest versions of E2B's own packages still work. */
export function newestRuns(): readonly ExampleRun[] {
  return exampleRuns.filter(({ set, row }) => ofE2bItself.has(set) || (set === 'javascript-newest' && row <= 4))
}
