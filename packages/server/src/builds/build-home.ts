/**
 * Returns the key by which the host of a build is chosen. Builds of one template name, with any
 * tag, have the same key, so they find the cache of their host.
 */
export function buildHome(projectId: string, templateName: string): string {
  return `${projectId} ${templateName}`
}
