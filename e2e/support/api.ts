import { ErrorBody, type ErrorCode, errorCatalogue } from '@holt/protocol'
import { expect } from 'vitest'
import type { z } from 'zod'
import { service } from './facts.ts'
import { send, type WireRequest } from './http.ts'
import { canary } from './service-process.ts'

/** An answer of the service. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly bytes: Buffer
  readonly text: string
}

/** The parts of a request. */
export interface CallOptions extends Pick<WireRequest, 'body' | 'signal' | 'timeoutMs'> {
  readonly json?: unknown
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the admin key; null: none. */
  readonly key?: string | null
}

/** The path of the runtimes. */
export const runtimesPath = '/v1/agents/runtime'

/** Calls the service and answers whatever it answers. */
export async function call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const answer = await send(service.url, wireRequest(method, path, options))
  return { ...answer, text: answer.bytes.toString() }
}

/** The request of a call, for those who open a stream or a connection of their own. */
export function wireRequest(method: string, path: string, options: CallOptions = {}): WireRequest {
  const { json, body, query, key = service.key, headers, ...rest } = options
  const search = query === undefined ? '' : `?${searchOf(query)}`
  const content = json === undefined ? body : JSON.stringify(json)
  return {
    ...rest,
    method,
    target: path + search,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(content === undefined ? {} : { body: content }),
  }
}

function searchOf(query: Readonly<Record<string, string | number | boolean>>): URLSearchParams {
  return new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))
}

/** Expects a success of this status and shape. */
export function success<Schema extends z.ZodType>(answer: Answer, status: number, schema: Schema): z.output<Schema> {
  expect(answer.status, answer.text).toBe(status)
  return schema.parse(JSON.parse(answer.text))
}

/** Expects this error of the catalogue, and that it tells nothing it must not. */
export function failure(answer: Answer, code: ErrorCode): ErrorBody['error'] {
  const error = anyFailure(answer)
  expect(error.code, answer.text).toBe(code)
  return error
}

/** Expects some error of the catalogue, and never one that says the service itself is at fault. */
export function anyFailure(answer: Answer): ErrorBody['error'] {
  const { error } = ErrorBody.strict().parse(JSON.parse(answer.text))
  expect(Object.keys(errorCatalogue)).toContain(error.code)
  expect(error.code, answer.text).not.toBe('internal')
  expect(answer.status, answer.text).toBe(errorCatalogue[error.code as ErrorCode].status)
  expect(answer.headers['x-request-id']).toBe(error.request_id)
  expect(error.message).not.toBe('')
  for (const secret of [
    service.stateDir,
    service.runDir,
    service.key,
    canary,
    'node_modules',
    '    at ',
    'SELECT ',
    'SQLITE',
  ]) {
    expect(answer.text).not.toContain(secret)
  }
  return error
}

/** The pointers of a 400, sorted. */
export function pointersOf(error: ErrorBody['error']): string[] {
  const issues = (error.details?.issues ?? []) as { readonly pointer: string }[]
  return issues.map(({ pointer }) => pointer).sort()
}
