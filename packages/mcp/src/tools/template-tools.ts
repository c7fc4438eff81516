import { type Build, BuildFailed, type BuildLogLine } from '@holt/sdk'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { errorResult } from '../results/error-result.ts'
import { jsonResult, linesResult, moreWith, shortened, textResult } from '../results/results.ts'
import { readsOnly, serviceTool, type Tool } from './tool.ts'

/** The maximum number of templates of one list. */
const maxListed = 100

/** The lines of a build's log that a failure shows. */
const maxLogLines = 40

/** The maximum number of characters of a line of the log. */
const maxLineLength = 300

const list = serviceTool({
  name: 'list_templates',
  title: 'List templates',
  description: 'Lists the templates that runtimes are made from, one JSON object per line.',
  routes: ['listTemplates'],
  annotations: readsOnly,
  fields: { cursor: z.string().max(1024).optional().describe('The cursor that an earlier list ended with.') },
  run: async ({ cursor }, { session, signal }) => {
    const { data, next_cursor } = await session.holt.templates.list({ limit: maxListed, signal }).page(cursor)
    const items = data.map(({ name, tag, kind, state, cpu, memory_mib, disk_mib, workdir }) => ({
      name: tag === 'latest' ? name : `${name}:${tag}`,
      kind,
      state,
      cpu,
      memory_mib,
      disk_mib,
      workdir,
    }))
    if (items.length === 0) return textResult('There are no templates.')
    return linesResult(items, next_cursor === null ? '' : moreWith(next_cursor))
  },
})

const size = z.union([z.number().positive(), z.string().min(1).max(32)])

const build = serviceTool({
  name: 'build_template',
  title: 'Build a template',
  description:
    'Builds a template from a Dockerfile, a container image or another template, and waits for it. COPY and ADD of local files are not possible. Cancelling the call cancels the build. A template of the same name is replaced.',
  routes: ['createBuild', 'getBuild', 'readBuildLogs', 'cancelBuild'],
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
  fields: {
    name: z.string().min(1).max(63).describe('The name of the template.'),
    tag: z.string().min(1).max(128).optional().describe('The tag. Default latest.'),
    dockerfile: z
      .string()
      .min(1)
      .max(1_048_576)
      .optional()
      .describe('The text of a Dockerfile. Give exactly one of dockerfile, from_image and from_template.'),
    from_image: z.string().min(1).max(512).optional().describe('A container image, such as python:3.12-slim.'),
    from_template: z.string().min(1).max(200).optional().describe('A template, by name or id.'),
    run: z
      .array(z.string().min(1).max(65_536))
      .max(100)
      .optional()
      .describe('Command lines that are run one after the other, as root. Not for a dockerfile.'),
    start_cmd: z.string().min(1).max(65_536).optional().describe('A program that runs in each new runtime.'),
    ready_cmd: z.string().min(1).max(65_536).optional().describe('A command that exits with 0 when it is ready.'),
    cpu: z.number().min(0.1).max(256).optional().describe('The vCPUs of its runtimes.'),
    memory: size.optional().describe('The memory of its runtimes: GiB, or a string with a unit.'),
    disk: size.optional().describe('The disk of its runtimes: GiB, or a string with a unit. The image must fit.'),
  },
  run: async ({ run, ...body }, { session, signal, tellProgress }) => {
    const steps = run === undefined ? {} : { steps: run.map((line) => ({ run: line })) }
    // A call that is cancelled meanwhile waits for the build's id, to cancel the build.
    const started = await session.holt.builds.create({ ...body, ...steps })
    const log = new LogTail()
    try {
      const ended = await started.wait({
        signal,
        onLog: (line) => log.add(line),
        onStatus: (build) => tellProgress(progressLine(build), progressOf(build)),
      })
      const { name, tag, template_id, status, duration_ms, warnings } = ended
      return jsonResult({ name, tag, template_id, status, duration_ms, warnings })
    } catch (error) {
      if (signal.aborted) await started.cancel()
      if (error instanceof BuildFailed) return failed(error, log)
      throw error
    }
  },
})

/** The tools of templates. */
export const templateTools: readonly Tool[] = [list, build]

/** The last lines of a build's log. */
class LogTail {
  #lines: string[] = []

  add({ message }: BuildLogLine): void {
    this.#lines.push(shortened(message, maxLineLength))
    if (this.#lines.length > 2 * maxLogLines) this.#lines = this.#lines.slice(-maxLogLines)
  }

  get text(): string {
    return this.#lines.slice(-maxLogLines).join('\n')
  }
}

function failed(error: BuildFailed, log: LogTail): CallToolResult {
  const { content, ...rest } = errorResult(error)
  return { ...rest, content: [...content, ...textResult(log.text).content] }
}

function progressOf({ steps }: Build): { readonly done: number; readonly total?: number } {
  const done = steps.filter(({ state }) => ['done', 'cached', 'skipped'].includes(state)).length
  return steps.length === 0 ? { done } : { done, total: steps.length }
}

function progressLine({ status, steps }: Build): string {
  const running = steps.find(({ state }) => state === 'running')
  return running === undefined ? status : shortened(`${status}: ${running.text}`, maxLineLength)
}
