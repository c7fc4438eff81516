import type { Handlers } from '../api.ts'
import { auditHandlers } from './audit-handlers.ts'
import { buildHandlers } from './build-handlers.ts'
import { codeHandlers } from './code-handlers.ts'
import { commandHandlers } from './command-handlers.ts'
import { drainHandlers } from './drain-handlers.ts'
import { eventHandlers } from './event-handlers.ts'
import { fileHandlers } from './file-handlers.ts'
import { hostChangeHandlers } from './host-change-handlers.ts'
import { hostHandlers } from './host-handlers.ts'
import { joinTokenHandlers } from './join-token-handlers.ts'
import { keyHandlers } from './key-handlers.ts'
import { metricsHandlers } from './metrics-handlers.ts'
import { networkHandlers } from './network-handlers.ts'
import { policyHandlers } from './policy-handlers.ts'
import { portHandlers } from './port-handlers.ts'
import { projectHandlers } from './project-handlers.ts'
import { identityHandlers } from './provider-handlers.ts'
import { runtimeHandlers } from './runtime-handlers.ts'
import { secretHandlers } from './secret-handlers.ts'
import { serviceHandlers } from './service-handlers.ts'
import { sessionHandlers } from './session-handlers.ts'
import { snapshotHandlers } from './snapshot-handlers.ts'
import { templateHandlers } from './template-handlers.ts'
import { treeHandlers } from './tree-handlers.ts'
import { usageHandlers } from './usage-handlers.ts'
import { webhookHandlers } from './webhook-handlers.ts'

/** The handlers of all routes. A route without a handler is a type error here. */
export const handlers: Handlers = {
  ...runtimeHandlers,
  ...snapshotHandlers,
  ...commandHandlers,
  ...codeHandlers,
  ...sessionHandlers,
  ...fileHandlers,
  ...portHandlers,
  ...treeHandlers,
  ...templateHandlers,
  ...buildHandlers,
  ...networkHandlers,
  ...policyHandlers,
  ...secretHandlers,
  ...identityHandlers,
  ...keyHandlers,
  ...eventHandlers,
  ...webhookHandlers,
  ...auditHandlers,
  ...projectHandlers,
  ...hostHandlers,
  ...hostChangeHandlers,
  ...drainHandlers,
  ...joinTokenHandlers,
  ...serviceHandlers,
  ...metricsHandlers,
  ...usageHandlers,
}
