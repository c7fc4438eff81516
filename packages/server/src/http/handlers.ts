import { auditHandlers } from '../audit/audit-handlers.ts'
import { buildHandlers } from '../builds/build-handlers.ts'
import { commandHandlers } from '../commands/command-handlers.ts'
import { sessionHandlers } from '../commands/session-handlers.ts'
import { eventHandlers } from '../events/event-handlers.ts'
import { fileHandlers } from '../files/file-handlers.ts'
import { treeHandlers } from '../files/tree-handlers.ts'
import { serviceHandlers } from '../health/service-handlers.ts'
import { identityHandlers } from '../identity/provider-handlers.ts'
import { keyHandlers } from '../keys/key-handlers.ts'
import { metricsHandlers } from '../metrics/metrics-handlers.ts'
import { networkHandlers } from '../network/network-handlers.ts'
import { policyHandlers } from '../network/policy-handlers.ts'
import { portHandlers } from '../ports/port-handlers.ts'
import { projectHandlers } from '../projects/project-handlers.ts'
import { runtimeHandlers } from '../runtimes/runtime-handlers.ts'
import { secretHandlers } from '../secrets/secret-handlers.ts'
import { snapshotHandlers } from '../snapshots/snapshot-handlers.ts'
import { templateHandlers } from '../templates/template-handlers.ts'
import { usageHandlers } from '../usage/usage-handlers.ts'
import { webhookHandlers } from '../webhooks/webhook-handlers.ts'
import type { Handlers } from './call.ts'

/** The handlers of all routes. A route without a handler is a type error here. */
export const handlers: Handlers = {
  ...runtimeHandlers,
  ...snapshotHandlers,
  ...commandHandlers,
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
  ...serviceHandlers,
  ...metricsHandlers,
  ...usageHandlers,
}
