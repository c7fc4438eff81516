import type { TestServer } from './start-test-server.ts'

/** A project beside the default one, and an admin key of it. */
export interface OwnProject {
  readonly projectId: string
  readonly key: string
  /** As the server's own, with the project's key. */
  readonly ask: TestServer['ask']
}

/** Makes a project with quotas. */
export async function makeProject({ ask }: TestServer, name: string, quotas: object = {}): Promise<OwnProject> {
  const made = await ask('POST', '/v1/agents/project', { json: { name, quotas } })
  if (made.status !== 201) throw new Error(made.text)
  const wanted = { name: `admin of ${name}`, scopes: ['admin'], project: name }
  const { key } = (await ask('POST', '/v1/agents/key', { json: wanted })).json
  return {
    projectId: made.json.project_id,
    key,
    ask: (method, path, request = {}) => ask(method, path, { key, ...request }),
  }
}
