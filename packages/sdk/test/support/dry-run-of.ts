import { type DryRun, errorCatalogue, type ForkDryRun, HoltError, type Id } from '@holt/protocol'
import { templateOf } from './template-handlers.ts'
import type { TestService } from './test-service.ts'

/**
 * Returns the answer to a create with `dry_run`. It knows templates, names and a quota of 8 GiB of
 * memory.
 */
export function dryRunOf(service: TestService, body: Readonly<Record<string, unknown>>): DryRun {
  const problems: DryRun['problems'] = []
  const template = templateIfThere(service, String(body.template ?? 'base-small'), problems)
  const memory = Number(body.memory ?? 1024)
  const isTaken = [...service.runtimes.values()].some(({ name }) => name !== null && name === body.name)
  if (isTaken) problems.push(problem('name_taken', `A runtime named ${body.name} exists.`))
  if (memory > 8192) problems.push(problem('quota_exceeded', `${memory} more would be too many.`))
  return {
    would_create: problems.length === 0,
    template,
    snapshot_id: null,
    cloud: 'aws',
    region: 'us-east-1',
    isolation: 'gvisor',
    cpu: template === null ? null : 1,
    memory_mib: template === null ? null : memory,
    disk_mib: template === null ? null : 4096,
    secrets: [],
    network_policy: { type: 'inline' },
    policy: {
      allow: [{ host: 'example.org', ports: [443] }],
      include: ['npm'],
      allow_all_hosts: false,
      deny: [],
      inspection: [],
    },
    timeout_secs: 3600,
    on_timeout: 'pause',
    idle_timeout_secs: null,
    auto_resume: true,
    quotas: [{ quota: 'memory_mib', limit: 8192, used: 0, after: memory }],
    host: { memory_max_mib: 60_000, memory_free_mib: 30 * 1024, disk_free_mib: 90 * 1024 },
    problems,
  }
}

/** Returns the answer to a fork with `dry_run`. Each of `childErrors` is a missing child. */
export function forkDryRunOf(
  service: TestService,
  { body, count }: { body: Readonly<Record<string, unknown>>; count: number },
): ForkDryRun {
  const problems = service.childErrors.slice(0, count)
  const { memory_mib: memory } = body
  const children = count - problems.length
  return { ...dryRunOf(service, { memory }), would_create: children === count, count, children, problems }
}

function templateIfThere(service: TestService, text: string, problems: DryRun['problems']): DryRun['template'] {
  try {
    const { template_id, name } = templateOf(service, text)
    return { template_id: template_id as Id<'template'>, name: String(name) }
  } catch (error) {
    if (!(error instanceof HoltError)) throw error
    const details = { issues: [{ pointer: '/template', message: 'names no template' }] }
    problems.push({ ...problem('template_not_found', error.message), details })
    return null
  }
}

function problem(code: keyof typeof errorCatalogue, message: string): DryRun['problems'][number] {
  return { code, message, hint: errorCatalogue[code].hint }
}
