import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installPinned } from './install-pinned.ts'

const run = promisify(execFile)
const project = fileURLToPath(new URL('../mcp-conformance', import.meta.url))

/** The longest time of one scenario on a busy machine. */
const timeoutMs = 120_000

/** The scenarios of the suite for servers, by the servers that they fit. */
export const mcpScenarios = {
  /** Those for any server: they call no tool and read no resource. */
  any: [
    ...['server-initialize', 'ping', 'tools-list', 'resources-list'],
    ...['dns-rebinding-protection', 'server-sse-multiple-streams'],
  ],
  /** The scenarios that need the tools and resources of the example of the suite. */
  example: [
    ...['tools-call-simple-text', 'tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource'],
    ...['tools-call-mixed-content', 'tools-call-with-logging', 'tools-call-error', 'tools-call-with-progress'],
    ...['tools-call-sampling', 'tools-call-elicitation', 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums'],
    ...['resources-read-text', 'resources-read-binary', 'resources-templates-read', 'logging-set-level'],
  ],
  /** The reasons of scenarios that are not run. */
  without: {
    'completion-complete': 'Holt completes no arguments',
    'json-schema-2020-12': 'the schemas of tools come from zod, which writes no $defs by hand',
    'prompts-list': 'Holt has no prompts',
    'prompts-get-simple': 'Holt has no prompts',
    'prompts-get-with-args': 'Holt has no prompts',
    'prompts-get-embedded-resource': 'Holt has no prompts',
    'prompts-get-with-image': 'Holt has no prompts',
    'resources-subscribe': 'Holt does not watch its resources',
    'resources-unsubscribe': 'Holt does not watch its resources',
    'server-sse-polling': 'streams of the endpoint cannot be resumed: it stores no events',
  },
} as const

/** The conformance suite of the Model Context Protocol. */
export class McpConformance {
  readonly #suite: string

  private constructor(modules: string) {
    this.#suite = join(modules, '@modelcontextprotocol/conformance/dist/index.js')
  }

  /** Installs the suite below `.holt`: it has a hundred packages, and only its tests need them. */
  static async install(): Promise<McpConformance> {
    return new McpConformance(await installPinned(project))
  }

  /** Returns the names of all scenarios for servers. */
  async scenarios(): Promise<readonly string[]> {
    const { stdout } = await run(process.execPath, [this.#suite, 'list', '--server'], { timeout: timeoutMs })
    return [...stdout.matchAll(/^ +- ([\w-]+)/gm)].map(([, name = '']) => name)
  }

  /** Runs a scenario. Throws with the words of the suite if a check fails or none was made. */
  async pass(scenario: string, url: string): Promise<void> {
    const results = await mkdtemp(join(tmpdir(), 'holt-conformance-'))
    try {
      const args = [this.#suite, 'server', '--url', url, '--scenario', scenario, '--output-dir', results]
      const { stdout } = await run(process.execPath, args, { cwd: results, timeout: timeoutMs })
      if (!/Passed: ([1-9]\d*)\/\1\b/.test(stdout)) throw new Error(stdout)
    } finally {
      await rm(results, { recursive: true, force: true })
    }
  }
}
