import { readFileSync } from 'node:fs'

/** Published packages of E2B's clients that are installed together, each in one version. */
export interface ClientSet {
  readonly name: string
  readonly language: 'javascript' | 'python'
  readonly packages: Readonly<Record<string, string>>
  /** The least minor version of Python 3 that the packages run with. */
  readonly pythonMinor?: number
}

const javascript = (name: string, packages: ClientSet['packages']): ClientSet => ({
  name: `javascript-${name}`,
  language: 'javascript',
  packages,
})

const python = (name: string, packages: ClientSet['packages']): ClientSet => ({
  name: `python-${name}`,
  language: 'python',
  packages,
})

const example = (file: string) => readFileSync(new URL(`../../../examples/e2b/${file}`, import.meta.url), 'utf8')

/** The newest versions are those that the examples name for their readers. */
const { dependencies: newestJavaScript } = JSON.parse(example('package.json')) as {
  readonly dependencies: Readonly<Record<string, string>>
}

const newestPython: Readonly<Record<string, string>> = Object.fromEntries(
  example('requirements.txt')
    .trim()
    .split('\n')
    .map((line) => line.split('==') as [string, string]),
)

/** Every set that a test uses. A name with a number is one of old versions. */
export const clientSets: readonly ClientSet[] = [
  javascript('sdk', { e2b: newestJavaScript.e2b ?? '' }),
  python('sdk', { e2b: newestPython.e2b ?? '' }),
  javascript('newest', newestJavaScript),
  python('newest', newestPython),
  python('openai-agents', { 'openai-agents[e2b]': '0.24.0' }),
  python('deep-agents', { 'langchain-e2b': '0.0.6' }),
  { ...python('harbor', { 'harbor[e2b]': '0.26.0', e2b: '2.63.0' }), pythonMinor: 12 },
  {
    // Its registry imports an older API of Daytona, too.
    ...python('inspect', {
      'inspect-sandboxes': '0.6.1',
      'inspect-ai': '0.3.285',
      daytona: '0.226.1',
      e2b: '2.63.0',
    }),
    pythonMinor: 12,
  },
  { ...python('desktop', { 'e2b-desktop': '2.7.2', e2b: '2.63.0' }), pythonMinor: 11 },
  python('smolagents', { 'smolagents[e2b]': '1.26.0', 'e2b-code-interpreter': '2.11.5', e2b: '2.63.0' }),
  python('crewai-tools', { 'crewai-tools[e2b]': '1.15.30', 'e2b-code-interpreter': '2.6.2', e2b: '2.20.3' }),
  python('adk', { 'e2b-adk': '0.1.2', 'e2b-code-interpreter': '2.11.5', e2b: '2.63.0' }),
  python('agno', { agno: '3.1.10', 'e2b-code-interpreter': '2.11.5', e2b: '2.63.0' }),
  python('haystack', { 'e2b-haystack': '2.0.0', e2b: '2.63.0' }),
  python('verifiers', { 'verifiers[e2b]': '0.4.0', e2b: '2.56.0' }),
  javascript('2.50.0', { e2b: '2.50.0', '@e2b/code-interpreter': '2.8.0' }),
  javascript('2.45.0', { e2b: '2.45.0', '@e2b/code-interpreter': '2.8.0' }),
  javascript('1.13.2', { e2b: '1.13.2', '@e2b/code-interpreter': '1.5.1' }),
  python('2.45.1', { e2b: '2.45.1', 'e2b-code-interpreter': '2.8.1' }),
  python('2.31.0', { e2b: '2.31.0', 'e2b-code-interpreter': '2.8.1' }),
  python('2.20.3', { e2b: '2.20.3', 'e2b-code-interpreter': '2.6.2' }),
  python('1.11.1', { e2b: '1.11.1', 'e2b-code-interpreter': '1.5.2' }),
]
