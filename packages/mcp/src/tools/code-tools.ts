import { collectCode, HoltError, type Runtime } from '@holt/sdk'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { OutputPart } from '../results/output-part.ts'
import { jsonResult, linesResult, moreWith, textResult, withoutStyles } from '../results/results.ts'
import { codeCursor, placeOf } from './code-cursor.ts'
import { CodeReport } from './code-report.ts'
import { readsOnly, runtimeTool, type Tool } from './tool.ts'

/** The maximum number of bytes of one answer of `read_code_output`. */
const maxReadBytes = 16 * 1024

/**
 * The maximum number of bytes of the values of a run that are read: four images of the largest
 * size.
 */
const maxValueBytes = 16 * 1024 * 1024

/** The maximum number of contexts of one list. */
const maxListed = 100

const language = z
  .string()
  .min(1)
  .max(32)
  .optional()
  .describe('python (default), javascript, typescript, bash, or another language of the template.')

const contextId = z.string().min(1).max(64)

const run = runtimeTool({
  name: 'run_code',
  title: 'Run code',
  description:
    'Runs code as a cell of a notebook and returns its output, its values and images. Variables and imports stay for later code of the same context. Needs a runtime of the template code-interpreter; others have run_command.',
  routes: ['getRuntime', 'runCode', 'runCodeInContext', 'readCodeRun', 'interruptCodeRun'],
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  fields: {
    code: z.string().min(1).max(1_048_576).describe('The code. The value of its last expression is returned.'),
    language,
    context_id: contextId
      .optional()
      .describe('A context of create_code_context. Default: the default context of the language.'),
    timeout_secs: z
      .number()
      .min(1)
      .max(604_800)
      .default(60)
      .describe('The time limit in seconds. Then the code is interrupted, and the variables stay. Default 60.'),
    env: z.record(z.string(), z.string()).optional().describe('Environment variables during this run.'),
  },
  run: async ({ code, context_id, language, ...how }, { runtime, signal, tellProgress }) => {
    if (context_id !== undefined && language !== undefined)
      throw new HoltError('invalid_request', 'The call has a context_id and a language.', {
        hint: 'Give one of them: a context has a language.',
      })
    using report = new CodeReport((message) => tellProgress(message))
    const items = runtime.code.stream(code, { ...how, context: context_id, language, signal })
    const limits = { max_output_bytes: 0, max_result_bytes: maxValueBytes }
    return report.result(await collectCode(report.watch(items), limits))
  },
})

const read = runtimeTool({
  name: 'read_code_output',
  title: 'Read the output of code',
  description:
    'Reads stdout and stderr of a run of code after a cursor, mixed in the order in which they were written. A context keeps its newest runs.',
  routes: ['getRuntime', 'readCodeRun'],
  annotations: readsOnly,
  fields: {
    run_id: z.string().min(1).max(32).describe('The run_id that run_code returned.'),
    cursor: z.number().int().min(0).default(0).describe('Output from this cursor on. Default 0: from the beginning.'),
  },
  run: async ({ run_id, cursor }, { runtime, signal }) => {
    const part = new OutputPart(cursor, maxReadBytes)
    let isLossy = false
    for await (const item of runtime.code.read(run_id, { cursor: placeOf(cursor).item - 1, signal })) {
      if (item.type === 'dropped') isLossy = true
      if (item.type === 'end')
        return textResult(withoutStyles(part.text), `[${isLossy ? lost : ''}This is the end of its output.]`)
      if (item.type !== 'stdout' && item.type !== 'stderr') continue
      const offset = item.cursor === placeOf(cursor).item ? placeOf(cursor).offset : 0
      const bytes = new TextEncoder().encode(item.text).subarray(offset)
      if (!part.add(bytes, codeCursor(item.cursor, offset))) break
    }
    return textResult(withoutStyles(part.text), `[${isLossy ? lost : ''}Read on with cursor ${part.cursor}.]`)
  },
})

const lost = 'Output before it is no longer kept. '

const create = runtimeTool({
  name: 'create_code_context',
  title: 'Create a code context',
  description:
    'Creates a context for run_code: a process with variables of its own. Each language has a default context, so most work needs no other.',
  routes: ['getRuntime', 'createCodeContext'],
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  fields: {
    language,
    cwd: z
      .string()
      .max(4096)
      .startsWith('/')
      .optional()
      .describe('The absolute path of the directory in which it starts. Default: that of the template.'),
  },
  run: async (args, { runtime, signal }) => jsonResult(await runtime.code.contexts.create({ ...args, signal })),
})

const list = runtimeTool({
  name: 'list_code_contexts',
  title: 'List code contexts',
  description: 'Lists the code contexts of a runtime, newest first, one JSON object per line.',
  routes: ['getRuntime', 'listCodeContexts'],
  annotations: readsOnly,
  fields: { cursor: z.string().max(1024).optional().describe('The cursor that an earlier list ended with.') },
  run: async ({ cursor }, { runtime, signal }) => {
    const { data, next_cursor } = await runtime.code.contexts.list({ limit: maxListed }, { signal }).page(cursor)
    if (data.length === 0) return textResult('There are no contexts. run_code starts the default one of its language.')
    return linesResult(data, next_cursor === null ? '' : moreWith(next_cursor))
  },
})

type Contexts = Runtime['code']['contexts']

/** Defines a tool that ends something of one context. */
function contextTool(
  facts: Pick<Tool, 'name' | 'title' | 'description' | 'routes'>,
  act: (contexts: Contexts, id: string, signal: AbortSignal) => Promise<CallToolResult>,
): Tool {
  return runtimeTool({
    ...facts,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    fields: { context_id: contextId.describe('The id of the context, such as default-python.') },
    run: ({ context_id }, { runtime, signal }) => act(runtime.code.contexts, context_id, signal),
  })
}

const interrupt = contextTool(
  {
    name: 'interrupt_code',
    title: 'Interrupt code',
    description: 'Interrupts the code that runs in a context, for example that of another call. Its variables stay.',
    routes: ['getRuntime', 'interruptCodeContext'],
  },
  async (contexts, id, signal) => jsonResult(await contexts.interrupt(id, { signal })),
)

const restart = contextTool(
  {
    name: 'restart_code_context',
    title: 'Restart a code context',
    description: 'Restarts a context: it keeps its id, and loses its variables. Brings back one whose process died.',
    routes: ['getRuntime', 'restartCodeContext'],
  },
  async (contexts, id, signal) => jsonResult(await contexts.restart(id, { signal })),
)

const remove = contextTool(
  {
    name: 'delete_code_context',
    title: 'Delete a code context',
    description: 'Deletes a context with its variables, and ends its code.',
    routes: ['getRuntime', 'deleteCodeContext'],
  },
  async (contexts, id, signal) => {
    await contexts.delete(id, { signal })
    return textResult(`Deleted ${id}.`)
  },
)

/** The tools of code. */
export const codeTools: readonly Tool[] = [run, read, create, list, interrupt, restart, remove]
