import type { ErrorCode } from '@holt/protocol'
import { BuildFailed, GitFailed, type GitFailureReason, HoltApiError, HoltError } from '@holt/sdk'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { oneLine, textResult } from './results.ts'

/** The remedies that are tools. The service names requests in their place. */
const hints: Partial<Readonly<Record<ErrorCode, string>>> = {
  runtime_not_found: 'Call list_runtimes, or create_runtime for a new one.',
  runtime_terminated: 'Call create_runtime for a new one.',
  runtime_paused: 'Call resume_runtime.',
  template_not_found: 'Call list_templates.',
  path_not_found: 'Call list_files with the parent directory.',
  is_directory: 'Call list_files for a directory. To copy one, set recursive.',
  code_context_not_found: 'Call list_code_contexts, or create_code_context for a new one.',
  code_interpreter_missing:
    'Call create_runtime with the template code-interpreter. In this runtime, use run_command with a file of code.',
  command_not_found: 'Start the command again: a runtime forgets commands after a while.',
  already_exists: 'Set overwrite, or choose another path.',
  forbidden: 'The key of this session lacks a scope. Ask the person who configured it.',
  unauthenticated: 'The key of this session is not valid. Ask the person who configured it.',
}

/** Returns the result of a failed call: the event, its code, the remedy and the request id. */
export function errorResult(error: unknown): CallToolResult {
  const words = linesOf(error).map((line) => oneLine(line.trim().replaceAll(/\s*\n\s*/g, ' ')))
  return { ...textResult(words.join('\n')), isError: true }
}

/** The steps after a failure of git that a person takes: no tool changes a policy or a secret. */
const byPerson: readonly GitFailureReason[] = ['network', 'credentials']

function linesOf(error: unknown): readonly string[] {
  if (error instanceof BuildFailed)
    return [error.message, `code: ${error.code} (${error.reason})`, `hint: ${error.hint}`]
  if (error instanceof GitFailed) {
    const who = byPerson.includes(error.reason) ? 'Ask the person who you work for. ' : ''
    return [error.message, `code: ${error.code} (${error.reason})`, `hint: ${who}${error.hint}`]
  }
  if (error instanceof HoltApiError) {
    const { wireMessage, wireCode, wireHint, requestId, code } = error
    return [
      wireMessage,
      `code: ${wireCode}`,
      `hint: ${hints[code] ?? wireHint}`,
      ...(requestId === null ? [] : [`request id: ${requestId}`]),
    ]
  }
  if (error instanceof HoltError) return [error.message, `code: ${error.code}`, `hint: ${error.hint}`]
  return [`The tool failed: ${error instanceof Error ? error.message : String(error)}`]
}
