import type { Caller } from '../../foundation/request/caller.ts'
import { systemProjectId } from '../../foundation/rows/system-project.ts'
import { requireScope } from '../auth/authenticate.ts'

/**
 * Throws if a caller without `operator` changes a thing of the service's own project, because every
 * project uses it.
 */
export function requireWriter(caller: Caller, projectId: string): void {
  if (projectId === systemProjectId) requireScope(caller, 'operator')
}
