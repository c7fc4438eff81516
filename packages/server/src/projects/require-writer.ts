import { type Caller, requireScope } from '../auth/authenticate.ts'
import { systemProjectId } from './system-project.ts'

/**
 * Throws if a caller without `operator` changes a thing of the service's own project, because every
 * project uses it.
 */
export function requireWriter(caller: Caller, projectId: string): void {
  if (projectId === systemProjectId) requireScope(caller, 'operator')
}
