import { z } from 'zod'
import { resultOutputBytes } from './command.ts'
import { idSchema } from './ids.ts'
import { Timestamp } from './page.ts'
import { Env } from './runtime.ts'
import { RuntimePath } from './runtime-path.ts'
import { Text } from './text.ts'

/** The language of code for which a request names none. */
export const defaultLanguage = 'python'

/** The default number of bytes of results, as JSON, in a waited-for answer. */
export const defaultResultBytes = 8 * 1024 * 1024

const maxKeptBytes = 16 * 1024 * 1024
const maxCodeLength = 1024 * 1024

/** A language of a code interpreter. */
export const Language = z
  .string()
  .regex(/^[a-z][a-z0-9_+.#-]{0,31}$/, 'must be the name of a language: 1 to 32 of a-z, 0-9 and _+.#-')

/** The id of a code context. The interpreter makes it, and those of default contexts are names. */
export const CodeContextId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be the id of a code context')

/** The states of a code context. */
export const codeContextStates = ['starting', 'idle', 'busy', 'dead'] as const

/** A code context: a language, and the variables that its code has left. */
export const CodeContext = z
  .object({
    context_id: CodeContextId.describe('The id of the context. That of a default context is `default-LANGUAGE`.'),
    language: Language.describe('The language of its code, such as `python`.'),
    cwd: z.string().describe('The directory in which it started.'),
    state: z
      .enum(codeContextStates)
      .describe(
        'The state: `starting`, `idle`, `busy` while code runs, or `dead` after its process has ended. A restart brings a dead one back.',
      ),
    execution_count: z.number().int().nullable().describe('The number of runs since its start; null if not known.'),
    created_at: Timestamp.describe('When it was created (RFC 3339 UTC with milliseconds).'),
  })
  .meta({ id: 'CodeContext' })
export type CodeContext = z.infer<typeof CodeContext>

/** The body of a new code context. */
export const CreateCodeContext = z
  .strictObject({
    language: Language.default(defaultLanguage).describe('The language of its code. Default `python`.'),
    cwd: RuntimePath.optional().describe(
      'The directory in which it starts. Default: the working directory of the template.',
    ),
  })
  .meta({ id: 'CreateCodeContext', examples: [{ language: 'python' }] })
export type CreateCodeContextInput = z.input<typeof CreateCodeContext>

const runFields = {
  code: Text.min(1, 'must not be empty')
    .max(maxCodeLength)
    .describe('The code to run, at most 1,048,576 characters. Give statements as in a cell of a notebook.'),
  timeout_secs: z
    .number()
    .min(0)
    .max(7 * 24 * 3600)
    .default(60)
    .describe(
      'The time limit in seconds, from the start of the code. At the limit the code is interrupted, and the variables stay. 0: no limit. Default 60.',
    ),
  env: Env.default({}).describe(
    'Environment variables during this run, in addition to those of the runtime. Default: none.',
  ),
  max_output_bytes: z
    .number()
    .int()
    .min(0)
    .max(maxKeptBytes)
    .default(resultOutputBytes)
    .describe(
      'The most bytes of each of stdout and stderr in a waited-for answer: the first ones. `truncated` says if bytes are missing. Default 1,048,576.',
    ),
  max_result_bytes: z
    .number()
    .int()
    .min(0)
    .max(maxKeptBytes)
    .default(defaultResultBytes)
    .describe(
      'The most bytes of all results in a waited-for answer, as JSON. Larger forms of a result are left out, and `truncated` says so. Default 8,388,608.',
    ),
} as const

/** The body of a run in a context. */
export const RunCodeInContext = z
  .strictObject(runFields)
  .meta({ id: 'RunCodeInContext', examples: [{ code: 'x = 1\nx + 1' }] })
export type RunCodeInContextInput = z.input<typeof RunCodeInContext>
export type RunCodeInContext = z.output<typeof RunCodeInContext>

/** The body of a run in the default context of a language. */
export const RunCode = z
  .strictObject({
    ...runFields,
    language: Language.default(defaultLanguage).describe(
      'The language, which also determines the context: `default-LANGUAGE`. It starts at its first run. Default `python`.',
    ),
  })
  .meta({ id: 'RunCode', examples: [{ code: '1 + 1' }] })
export type RunCodeInput = z.input<typeof RunCode>
export type RunCode = z.output<typeof RunCode>

/** The ends of a run. */
export const codeStatuses = ['ok', 'error', 'timed_out', 'interrupted', 'kernel_died', 'out_of_memory'] as const

const statusWords =
  'The end of the run. `ok`. `error`: the code raised an error. `timed_out`: it was interrupted at its time limit. `interrupted`: a request ended it. `kernel_died`: the process of the context ended, and its variables are lost. `out_of_memory`: that process was killed because the runtime ran out of memory.'

const mimeBundle = z
  .record(z.string(), z.unknown())
  .describe(
    'The forms of one value by media type. `application/json` and types that end with `+json` are JSON. Images and PDF are base64. All other types are text.',
  )
const metadata = z.record(z.string(), z.unknown()).describe('The metadata that the code gave, by media type or by key.')
const isMain = z.boolean().describe('True for the value of the last expression. False for what the code displays.')

/** A result of code: one value in several forms. */
export const CodeOutput = z.object({ data: mimeBundle, metadata, main: isMain }).meta({ id: 'CodeOutput' })
export type CodeOutput = z.infer<typeof CodeOutput>

const errorFields = {
  name: z.string().describe('The name of the error, such as `ZeroDivisionError`.'),
  value: z.string().describe('The message of the error.'),
  traceback: z.array(z.string()).describe('The traceback, from the outermost call inwards. Lines can have colours.'),
} as const

/** The error that ended code. */
export const CodeError = z.object(errorFields).meta({ id: 'CodeError' })
export type CodeError = z.infer<typeof CodeError>

const endFields = {
  status: z.enum(codeStatuses).describe(statusWords),
  execution_count: z.number().int().nullable().describe('The number of this run in its context; null if not known.'),
  duration_ms: z.number().int().describe('The time from the start of the code to its end in milliseconds.'),
  state_lost: z
    .boolean()
    .describe('True if the variables of earlier runs were lost since the last run of the context, or in this run.'),
} as const

/** A run that has ended, with its output: the answer to a waited-for run. */
export const CodeResult = z
  .object({
    run_id: idSchema('code_run').describe('The id of the run.'),
    context_id: CodeContextId.describe('The context in which the code ran.'),
    ...endFields,
    stdout: z.string().describe('The first bytes of stdout. See `truncated`.'),
    stderr: z.string().describe('The first bytes of stderr. See `truncated`.'),
    results: z
      .array(CodeOutput)
      .describe(
        'The values that the code displayed, and the value of its last expression. An updated display has its last value. A cleared one is absent.',
      ),
    error: CodeError.nullable().describe('The error that ended the code; null if none did.'),
    truncated: z
      .object({
        stdout: z.boolean().describe('True if bytes of stdout are missing.'),
        stderr: z.boolean().describe('True if bytes of stderr are missing.'),
        results: z.boolean().describe('True if results, or forms of a result, are missing.'),
      })
      .describe('Says what is missing in this answer. The route of the run has the kept items.'),
  })
  .meta({ id: 'CodeResult' })
export type CodeResult = z.infer<typeof CodeResult>

const cursor = z.number().int().describe('The position of this item. To resume after it, send it as `?cursor=`.')

/** An item of a run's stream. */
export const CodeItem = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('start').describe('The first item: the run is accepted.'),
      cursor,
      run_id: idSchema('code_run').describe('The id of the run.'),
      context_id: CodeContextId.describe('The context in which the code runs.'),
    }),
    z.object({
      type: z.literal('queued').describe('The run waits for earlier runs of its context.'),
      cursor,
    }),
    z.object({
      type: z.enum(['stdout', 'stderr']).describe('The stream of this output.'),
      cursor,
      text: z.string().describe('The output.'),
    }),
    z.object({
      type: z
        .enum(['result', 'display', 'update_display'])
        .describe(
          '`result`: the value of the last expression. `display`: what the code displays. `update_display`: a new value for the display with the same `display_id`.',
        ),
      cursor,
      data: mimeBundle,
      metadata,
      main: isMain,
      display_id: z.string().optional().describe('The name of the display, for updates; absent if it has none.'),
    }),
    z.object({
      type: z.literal('clear_output').describe('The code removes what it has displayed.'),
      cursor,
      wait: z.boolean().describe('True if it is removed only when the next output comes.'),
    }),
    z.object({
      type: z.literal('error').describe('The error that ends the code.'),
      cursor,
      ...errorFields,
    }),
    z.object({
      type: z.literal('dropped').describe('Items were lost before the cursor.'),
      cursor,
      dropped_bytes: z.number().int().describe('The number of lost bytes.'),
    }),
    z.object({
      type: z.literal('end').describe('The last item: the run has ended.'),
      cursor,
      ...endFields,
      truncated: z.boolean().describe('True if output of the run is no longer kept, or was never kept.'),
    }),
  ])
  .meta({ id: 'CodeItem' })
export type CodeItem = z.infer<typeof CodeItem>

/** The query of a run. */
export const CodeRunQuery = z.strictObject({
  cursor: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Answer only items after this cursor. Default: all items that are kept.'),
})
