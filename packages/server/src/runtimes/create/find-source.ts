import type { EngineFacts } from '@holt/engine'
import { type CreateRuntime, defaultTemplate } from '@holt/protocol'
import { checkpointOfClass } from '../../artifacts/class-checkpoints.ts'
import { attempt, type Refuse } from '../../foundation/errors/refuse.ts'
import { templateName } from '../../foundation/rows/template-name.ts'
import type { TemplateRow } from '../../foundation/store/tables.ts'
import { vendorPolicy } from '../../resources/agents/vendor-policy.ts'
import { findTemplate } from '../../resources/templates/find-template.ts'
import { commandsOf } from '../../resources/templates/template-commands.ts'
import { startsLike } from '../pools/pool-shape.ts'
import type { Runtimes } from '../runtimes.ts'
import { type FoundSource, type RuntimeSource, requireIsolation } from './runtime-source.ts'
import { snapshotSource } from './snapshot-source.ts'

/**
 * Returns the digest of a template's image. Throws while the template has none. Only builds know
 * how an unbuilt template gets one, and they are above runtimes.
 */
export type ImageOf = (template: TemplateRow) => Promise<string>

/** The rules of a search for a source. */
export interface SourceSearch<Refused extends null> {
  readonly request: CreateRuntime
  readonly facts: EngineFacts
  readonly imageOf: ImageOf
  readonly refuse: Refuse<Refused>
}

/** Returns the source of a create: a template or a snapshot. */
export async function findSource<Refused extends null>(
  service: Runtimes,
  projectId: string,
  search: SourceSearch<Refused>,
): Promise<FoundSource<Refused>> {
  const { request, facts, imageOf, refuse } = search
  const { snapshot } = request
  if (snapshot !== undefined) return snapshotSource(service, projectId, { reference: snapshot, request, facts, refuse })
  const reference = request.template ?? defaultTemplate
  const template = await attempt(refuse, () => findTemplate(service, { projectId, reference }))
  const wanted = request.isolation ?? service.config.isolation ?? 'gvisor'
  const isolation = await attempt(refuse, () => requireIsolation(facts, wanted))
  if (template === null) return { source: template, isolation, defaultPolicy: null, former: null }
  const imageDigest = await attempt(refuse, () => imageOf(template))
  const checkpointId =
    wanted === 'gvisor' ? await checkpointOfClass(service.artifacts, service.store.db, template) : null
  const source: RuntimeSource = {
    templateId: template.template_id,
    templateName: templateName(template),
    snapshotId: null,
    parentId: null,
    isolation: wanted,
    // Nothing is made of a template whose image was refused.
    imageDigest: imageDigest ?? '',
    checkpointId,
    lacksCheckpoint: wanted === 'gvisor' && template.checkpoint_id !== null && checkpointId === null,
    startsLike: startsLike(template, wanted),
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
  return { source, isolation, defaultPolicy: vendorPolicy(service, template, request.secrets), former: null }
}
