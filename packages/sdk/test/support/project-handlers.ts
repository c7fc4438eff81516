import {
  type CreateKeyInput,
  type CreateProjectInput,
  type DrainHostInput,
  HoltError,
  makeId,
  quotaNames,
  type SetQuotas,
  type UpdateProjectInput,
} from '@holt/protocol'
import { now } from './samples.ts'
import type { TestCall, TestService } from './test-service.ts'

type Row = Record<string, unknown>

const noQuotas = Object.fromEntries(quotaNames.map((name) => [name, null]))

/** A project has nothing. */
const noUse = {
  runtimes: 0,
  paused_runtimes: 0,
  cpu: 0,
  memory_mib: 0,
  disk_mib: 0,
  snapshot_bytes: 0,
  template_bytes: 0,
  builds: 0,
}

/** The project of the key that tests have. */
const ownProject = { project_id: makeId('project'), name: 'default' }

const changed = (quotas: unknown, change: SetQuotas = {}) => ({
  ...(quotas as object),
  ...Object.fromEntries(Object.entries(change).map(([name, value]) => [name, value === 'default' ? null : value])),
})

/** Keys, projects and the host. */
export const projectHandlers = {
  cordonHost: () => ({ status: 204 }),
  uncordonHost: () => ({ status: 204 }),
  drainHost: ({ service, body }: TestCall) => ({
    status: 200,
    json: {
      host_id: service.host.host_id,
      drains: (body as DrainHostInput).dry_run !== true,
      moving: 2,
      ending: 1,
      paused: 3,
      problems: [],
    },
  }),
  loseHost: () => ({ status: 204 }),
  forgetHost: () => ({ status: 204 }),
  createJoinToken: ({ service, body }: TestCall) => {
    const { ttl_secs, once } = body as { ttl_secs: number; once: boolean }
    const expires_at = new Date(Date.now() + ttl_secs * 1000).toISOString()
    const token: Row = { token_id: makeId('join_token'), created_at: now(), expires_at, once, uses: 0 }
    service.joinTokens.set(String(token.token_id), token)
    return { status: 201, json: { ...token, token: 'holt-join-1.secret' } }
  },
  listJoinTokens: ({ service }: TestCall) => ({
    status: 200,
    json: { data: [...service.joinTokens.values()].reverse(), next_cursor: null },
  }),
  revokeJoinToken: ({ service, params }: TestCall) => {
    if (!service.joinTokens.delete(params.token_id ?? ''))
      throw new HoltError('join_token_not_found', 'No such join token')
    return { status: 204 }
  },
  listHosts: ({ service }: TestCall) => ({ status: 200, json: { data: [service.host], next_cursor: null } }),
  createKey: ({ service, body }: TestCall) => {
    const { project, ...wanted } = body as CreateKeyInput
    const key: Row = {
      key_id: makeId('key'),
      prefix: 'holt_abc',
      created_at: now(),
      last_used_at: null,
      rotated_at: null,
      previous_until: null,
      ...wanted,
      project_id: project === undefined ? ownProject.project_id : projectOf(service, project).project_id,
    }
    service.keys.set(String(key.key_id), key)
    return { status: 201, json: { ...key, key: 'holt_secret' } }
  },
  listKeys: ({ service, query }: TestCall) => {
    const { project_id } = query.project === undefined ? ownProject : projectOf(service, String(query.project))
    return {
      status: 200,
      json: { data: [...service.keys.values()].filter((key) => key.project_id === project_id), next_cursor: null },
    }
  },
  getKey: (call: TestCall) => ({ status: 200, json: keyOf(call) }),
  rotateKey: (call: TestCall) => {
    const { overlap_secs } = call.body as { overlap_secs: number }
    const until = overlap_secs === 0 ? null : new Date(Date.now() + overlap_secs * 1000).toISOString()
    const key = Object.assign(keyOf(call), { rotated_at: now(), previous_until: until })
    return { status: 200, json: { ...key, key: 'holt_another' } }
  },
  revokeKey: (call: TestCall) => {
    call.service.keys.delete(String(keyOf(call).key_id))
    return { status: 204 }
  },
  whoami: ({ service }: TestCall) => {
    const key = {
      key_id: makeId('key'),
      project_id: ownProject.project_id,
      name: 'admin of this machine',
      prefix: 'holt_abc',
      scopes: service.scopes,
      expires_at: null,
      created_at: now(),
      last_used_at: null,
      rotated_at: null,
      previous_until: null,
    }
    return { status: 200, json: { key, project: ownProject, quotas: { ...noQuotas, runtimes: 10 }, use: noUse } }
  },
  createProject: ({ service, body }: TestCall) => {
    const { name, quotas } = body as CreateProjectInput
    const times = { created_at: now(), updated_at: now() }
    const project: Row = {
      project_id: makeId('project'),
      name,
      quotas: changed(noQuotas, quotas),
      use: noUse,
      ...times,
    }
    service.projects.set(String(project.project_id), project)
    return { status: 201, json: project }
  },
  listProjects: ({ service }: TestCall) => ({
    status: 200,
    json: { data: [...service.projects.values()].reverse(), next_cursor: null },
  }),
  getProject: ({ service, params }: TestCall) => ({ status: 200, json: projectOf(service, params.project_id) }),
  updateProject: ({ service, params, body }: TestCall) => {
    const project = projectOf(service, params.project_id)
    const { name = project.name, quotas } = body as UpdateProjectInput
    return { status: 200, json: Object.assign(project, { name, quotas: changed(project.quotas, quotas) }) }
  },
  deleteProject: ({ service, params }: TestCall) => {
    service.projects.delete(String(projectOf(service, params.project_id).project_id))
    return { status: 204 }
  },
}

function keyOf({ service, params }: TestCall): Row {
  const key = service.keys.get(params.key_id ?? '')
  if (key === undefined) throw new HoltError('key_not_found', 'No such key')
  return key
}

function projectOf(service: TestService, text: string | undefined): Row {
  const project = service.projects.get(text ?? '') ?? [...service.projects.values()].find(({ name }) => name === text)
  if (project === undefined) throw new HoltError('project_not_found', 'No such project')
  return project
}
