import { type Caller, requireScope } from '../auth/authenticate.ts'
import { systemProjectId } from './system-project.ts'

/** Refuses a change of what Holt itself provides to all but operators: every project uses it. */
export function requireWriter(caller: Caller, projectId: string): void {
  if (projectId === systemProjectId) requireScope(caller, 'operator')
}
