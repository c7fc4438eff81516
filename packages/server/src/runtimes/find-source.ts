import type { EngineFacts } from '@holt/engine'
import { type CreateRuntime, defaultTemplate } from '@holt/protocol'
import { imageToUse } from '../agents/pull-agent-template.ts'
import { vendorPolicy } from '../agents/vendor-policy.ts'
import type { Service } from '../service.ts'
import { snapshotSource } from '../snapshots/snapshot-source.ts'
import { findTemplate, templateName } from '../templates/find-template.ts'
import { commandsOf } from '../templates/start-command.ts'
import { type FoundSource, type RuntimeSource, requireIsolation } from './runtime-source.ts'

/** Finds what a create is made from. */
export async function findSource(
  service: Service,
  projectId: string,
  { request, facts }: { request: CreateRuntime; facts: EngineFacts },
): Promise<FoundSource> {
  const { snapshot } = request
  if (snapshot !== undefined) return snapshotSource(service, projectId, { reference: snapshot, request, facts })
  const template = await findTemplate(service, { projectId, reference: request.template ?? defaultTemplate })
  const isolation = request.isolation ?? service.config.isolation ?? 'gvisor'
  requireIsolation(facts, isolation)
  const source: RuntimeSource = {
    templateId: template.template_id,
    templateName: templateName(template),
    snapshotId: null,
    parentId: null,
    isolation,
    imageDigest: await imageToUse(service, template),
    checkpointId: isolation === 'gvisor' ? template.checkpoint_id : null,
    checkpointBytes: null,
    restoreOnly: false,
    renew: false,
    cpu: template.cpu,
    memoryMiB: template.memory_mib,
    diskMiB: template.disk_mib,
    env: JSON.parse(template.env_json),
    user: template.user,
    workdir: template.workdir,
    commands: commandsOf(template),
  }
  return { source, defaultPolicy: vendorPolicy(service, template, request.secrets), former: null }
}
