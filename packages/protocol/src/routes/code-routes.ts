import { z } from 'zod'
import {
  CodeContext,
  CodeItem,
  CodeResult,
  CodeRunQuery,
  CreateCodeContext,
  RunCode,
  RunCodeInContext,
} from '../code.ts'
import type { ErrorCode } from '../errors.ts'
import { pageOf, pageQuery } from '../page.ts'
import type { Route } from '../route.ts'
import { answer, insideErrors, json, none, runtimeParams, runtimePath } from './parts.ts'

const contextParams = runtimeParams.extend({ context_id: z.string().describe('The id of the context.') })
const runParams = runtimeParams.extend({ run_id: z.string().describe('The id of the run.') })

const contextsPath = `${runtimePath}/contexts` as const
const contextPath = `${contextsPath}/{context_id}` as const
const runPath = `${contextsPath}/runs/{run_id}` as const

/** The errors that every route to the code interpreter of a runtime may return. */
const codeErrors = [
  ...insideErrors,
  'code_interpreter_missing',
  'code_interpreter_failed',
  'conflict',
] as const satisfies readonly ErrorCode[]

const writeErrors = [...codeErrors, 'unsupported_media_type'] as const satisfies readonly ErrorCode[]

const runDescription =
  'Waits and answers the result; streams items where the client accepts `text/event-stream` or `application/x-ndjson`. Closing the connection does not end the run. Code that fails, times out or loses its context is a result, not an error. The runs of a context take place one after another.'

const runAnswers = {
  200: { type: 'json', schema: CodeResult, description: 'The run has ended.', stream: CodeItem },
} as const

/** The routes of code contexts: code that runs with the variables of earlier code. */
export const codeRoutes = {
  createCodeContext: {
    method: 'POST',
    path: contextsPath,
    runsOn: 'owner',
    summary: 'Create a code context',
    description: 'A context keeps the variables of its code. It is part of pauses, snapshots and forks.',
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(CreateCodeContext),
    answers: { 201: answer(CodeContext, 'The context.') },
    errors: [...writeErrors, 'language_not_found', 'invalid_path'],
  },
  listCodeContexts: {
    method: 'GET',
    path: contextsPath,
    runsOn: 'owner',
    summary: 'List code contexts, newest first',
    scope: 'runtime:read',
    params: runtimeParams,
    query: z.strictObject(pageQuery),
    body: none,
    answers: { 200: answer(pageOf(CodeContext).meta({ id: 'CodeContextPage' }), 'A page of contexts.') },
    errors: codeErrors,
  },
  getCodeContext: {
    method: 'GET',
    path: contextPath,
    runsOn: 'owner',
    summary: 'Get a code context',
    scope: 'runtime:read',
    params: contextParams,
    body: none,
    answers: { 200: answer(CodeContext, 'The context.') },
    errors: [...codeErrors, 'code_context_not_found'],
  },
  deleteCodeContext: {
    method: 'DELETE',
    path: contextPath,
    runsOn: 'owner',
    summary: 'Delete a code context, and end its code',
    scope: 'runtime:write',
    params: contextParams,
    body: none,
    answers: { 204: { type: 'none', description: 'It is gone. A default context starts anew at its next run.' } },
    errors: [...codeErrors, 'code_context_not_found'],
  },
  runCode: {
    method: 'POST',
    path: `${contextsPath}/run`,
    runsOn: 'owner',
    summary: 'Run code in the default context of its language',
    description: runDescription,
    scope: 'runtime:write',
    params: runtimeParams,
    body: json(RunCode),
    answers: runAnswers,
    errors: [...writeErrors, 'language_not_found'],
  },
  runCodeInContext: {
    method: 'POST',
    path: `${contextPath}/run`,
    runsOn: 'owner',
    summary: 'Run code in a context',
    description: runDescription,
    scope: 'runtime:write',
    params: contextParams,
    body: json(RunCodeInContext),
    answers: runAnswers,
    errors: [...writeErrors, 'code_context_not_found'],
  },
  interruptCodeContext: {
    method: 'POST',
    path: `${contextPath}/interrupt`,
    runsOn: 'owner',
    summary: 'Interrupt the code that runs in a context',
    description: 'The run ends with the status `interrupted`, and the variables stay. Without a run, nothing happens.',
    scope: 'runtime:write',
    params: contextParams,
    body: none,
    answers: { 200: answer(CodeContext, 'It is interrupted.') },
    errors: [...codeErrors, 'code_context_not_found'],
  },
  restartCodeContext: {
    method: 'POST',
    path: `${contextPath}/restart`,
    runsOn: 'owner',
    summary: 'Restart a code context',
    description: 'The context keeps its id, and loses its variables. A run in progress ends.',
    scope: 'runtime:write',
    params: contextParams,
    body: none,
    answers: { 200: answer(CodeContext, 'It is restarted.') },
    errors: [...codeErrors, 'code_context_not_found'],
  },
  readCodeRun: {
    method: 'GET',
    path: runPath,
    runsOn: 'owner',
    summary: 'Read the items of a run from any point that is kept',
    description: 'Follows the run until its end. The interpreter keeps the newest runs.',
    scope: 'runtime:read',
    params: runParams,
    query: CodeRunQuery,
    body: none,
    answers: {
      200: {
        type: 'stream',
        item: CodeItem,
        description: 'Items after the cursor. `end` is the last one; a stream without it broke.',
      },
    },
    errors: [...codeErrors, 'code_run_not_found'],
  },
  interruptCodeRun: {
    method: 'POST',
    path: `${runPath}/interrupt`,
    runsOn: 'owner',
    summary: 'Interrupt one run',
    description: 'A run that waits for its turn is not started. A run that has ended stays as it is.',
    scope: 'runtime:write',
    params: runParams,
    body: none,
    answers: { 204: { type: 'none', description: 'It is interrupted.' } },
    errors: [...codeErrors, 'code_run_not_found'],
  },
} as const satisfies Record<string, Route>
