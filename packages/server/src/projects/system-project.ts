/**
 * The service's own project, which the schema makes. What is its, such as the templates that Holt
 * provides, every project reads; nobody has a key to it, and no route names it.
 */
export const systemProjectId = 'prholt0000000000000000'

/** Whose things a project reads: its own, and the service's. */
export function readableBy(projectId: string): readonly string[] {
  return [projectId, systemProjectId]
}
