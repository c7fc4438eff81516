import { portClosed } from '@holt/e2b'
import type { Api } from '../../api/api.ts'
import type { E2bRequest } from '../answers/e2b-request.ts'
import { findSandbox } from '../sandbox/find-sandbox.ts'

/** The port of a runtime that a request is for. */
export interface SandboxPort {
  readonly sandboxId: string
  readonly port: number
  /** The way in which the request names it. */
  readonly by: 'host' | 'headers'
}

/** Forwards a request to a program inside a runtime. */
export async function serveSandboxPort(
  service: Api,
  { sandboxId, port }: SandboxPort,
  _asked: E2bRequest,
): Promise<void> {
  await findSandbox(service, sandboxId)
  throw portClosed(sandboxId, port)
}
