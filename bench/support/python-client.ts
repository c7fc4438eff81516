import { join } from 'node:path'
import { publishedClients } from '@holt/testkit'
import { PythonProcess } from './python-process.ts'
import { runProgram } from './run-program.ts'

const installTimeoutMs = 300_000
const program = join(import.meta.dirname, 'python-client.py')
const sandboxProgram = join(import.meta.dirname, 'sandbox-client.py')

/** The ways to send a request from Python: both clients, and plain requests of `http.client`. */
export type PythonWay = 'sync' | 'async' | 'raw'

/** A round of operations by the Python client. */
export interface ClientRound {
  readonly way: PythonWay
  readonly what: 'commands' | 'upload'
  readonly count: number
}

/** Starts a process that measures the Python client, for one runtime and one file to send. */
export function startPythonClient(options: {
  readonly python: string
  readonly service: Readonly<Record<string, string>>
  readonly runtimeId: string
  readonly file: string
  readonly signal: AbortSignal
}): Promise<PythonProcess<ClientRound>> {
  const { python, service: environment, runtimeId, file, signal } = options
  return PythonProcess.start({ python, program, args: [runtimeId, file], environment }, signal)
}

/** A step of a client in a sandbox, as `sandbox-client.py` describes it. */
export interface SandboxStep {
  readonly step: 'first' | 'later' | 'remove'
}

/** Starts a process that measures E2B's published client in its newest pinned version. */
export async function startE2bPython(
  variables: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<PythonProcess<SandboxStep>> {
  const python = join(await publishedClients('python-sdk'), 'bin/python')
  // A retry would hide a failed request.
  const environment = { ...variables, E2B_CONNECTION_RETRIES: '0' }
  return PythonProcess.start({ python, program: sandboxProgram, args: ['e2b'], environment }, signal)
}

/** Starts a process that measures the client of this repository in the same way. */
export async function startHoltPython(
  options: { readonly repo: string; readonly service: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<PythonProcess<SandboxStep>> {
  const python = await pythonWithClient(options.repo, signal)
  return PythonProcess.start({ python, program: sandboxProgram, args: ['holt'], environment: options.service }, signal)
}

/** Returns the Python with the client of this repository, which its tests use too. */
export function pythonWithClient(repo: string, signal: AbortSignal): Promise<string> {
  return preparedPython(repo, 'scripts/prepare-python.sh', signal)
}

/** Returns the Python with jupyter_client, which the tests of the interpreter use. */
export function pythonWithJupyter(repo: string, signal: AbortSignal): Promise<string> {
  return preparedPython(repo, 'scripts/prepare-code-interpreter.sh', signal)
}

async function preparedPython(repo: string, script: string, signal: AbortSignal): Promise<string> {
  return (await runProgram(['bash', join(repo, script)], { timeoutMs: installTimeoutMs, signal })).trim()
}
