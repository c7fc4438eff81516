/**
 * The service's own project, which the schema creates. Every project can read its things, such as
 * Holt's templates. It has no keys, and no route names it.
 */
export const systemProjectId = 'prholt0000000000000000'

/** The name of the project that exists from the start. */
export const defaultProject = 'default'

/** Returns the projects whose things a project can read: its own, and the service's. */
export function readableBy(projectId: string): readonly string[] {
  return [projectId, systemProjectId]
}
