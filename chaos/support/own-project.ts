import { Key, Project, Runtime } from '@holt/protocol'
import { z } from 'zod'
import { type Answer, type CallOptions, call, runtimesPath, success } from '../../e2e/support/api.ts'

const projectsPath = '/v1/agents/project'

/** Creates a project, and a key with all scopes in it. */
export async function makeProject(
  name: string,
  quotas: Readonly<Record<string, number>> = {},
): Promise<{ readonly projectId: string; readonly key: string }> {
  const { project_id: projectId } = success(await call('POST', projectsPath, { json: { name, quotas } }), 201, Project)
  const json = { name, project: projectId, scopes: ['admin'] }
  const created = Key.extend({ key: z.string() })
  const { key } = success(await call('POST', '/v1/agents/key', { json }), 201, created)
  return { projectId, key }
}

/** Deletes a project. The service refuses if the project is not empty. */
export function deleteProject(projectId: string): Promise<Answer> {
  return call('DELETE', `${projectsPath}/${projectId}`)
}

/** A project with a key and a runtime, for clients that must share nothing with the bystander. */
export class OwnProject implements AsyncDisposable {
  readonly key: string
  readonly runtimePath: string
  readonly #projectId: string

  private constructor({ key, projectId, runtimeId }: { key: string; projectId: string; runtimeId: string }) {
    this.key = key
    this.#projectId = projectId
    this.runtimePath = `${runtimesPath}/${runtimeId}`
  }

  static async make(name: string, quotas: Readonly<Record<string, number>> = {}): Promise<OwnProject> {
    const { projectId, key } = await makeProject(name, quotas)
    const { runtime_id: runtimeId } = success(await call('POST', runtimesPath, { json: {}, key }), 201, Runtime)
    return new OwnProject({ key, projectId, runtimeId })
  }

  /** Calls a route below the runtime. */
  call(method: string, path: string, options: Omit<CallOptions, 'key'> = {}): Promise<Answer> {
    return call(method, this.runtimePath + path, { ...options, key: this.key })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await call('DELETE', this.runtimePath, { key: this.key })
    await deleteProject(this.#projectId)
  }
}
