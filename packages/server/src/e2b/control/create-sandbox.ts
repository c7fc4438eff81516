import { E2bError, type NewSandbox } from '@holt/e2b'
import type { CreateRuntime } from '@holt/protocol'
import { imageToUse } from '../../builds/pull-agent-template.ts'
import type { E2bConfig } from '../../foundation/config/e2b-settings.ts'
import { createRuntime } from '../../runtimes/create/create-runtime.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import { presentSandbox } from '../sandbox/present-sandbox.ts'
import type { SandboxSettings } from '../sandbox/sandbox-settings.ts'
import type { ControlCall } from './control-call.ts'
import { e2bConfig } from './e2b-config.ts'
import { findByName, type NamedSource } from './find-by-name.ts'
import { policyOf } from './sandbox-egress.ts'

/**
 * Creates a runtime as clients of E2B want it. It ends after its timeout, unless the create asks
 * for a pause. Requests resume it only if the create says so.
 */
export async function createSandbox(
  call: ControlCall<NewSandbox, unknown>,
  defaultTimeoutSecs: (config: E2bConfig) => number,
): Promise<E2bAnswer> {
  const { service, caller, body, newId } = call
  const config = e2bConfig(service)
  const request = await wantedRuntime(call, defaultTimeoutSecs)
  const row = await createRuntime(service, {
    projectId: caller.projectId,
    runtimeId: newId('runtime'),
    request,
    sandbox: JSON.stringify(settingsOf(config, body)),
    pauseKind: body.autoPauseMemory === false ? 'filesystem' : 'memory',
    imageOf: (template) => imageToUse(service, template),
  })
  const egress = { asked: body.allow_internet_access ?? null, given: request.network_policy !== null }
  service.log.info({ runtime_id: row.runtime_id, mode: config.egress, egress }, 'a client of E2B made a sandbox')
  return { status: 201, json: await presentSandbox(service, row) }
}

/** Returns the runtime that a create asks for. Throws if the service does not grant it. */
export async function wantedRuntime(
  { service, caller, body }: ControlCall<NewSandbox, unknown>,
  defaultTimeoutSecs: (config: E2bConfig) => number,
): Promise<CreateRuntime> {
  refuseAbsent(body)
  const config = e2bConfig(service)
  const network_policy = policyOf(config, { internet: body.allow_internet_access, network: body.network })
  const source = await findByName(service, caller.projectId, body.templateID)
  return {
    ...asSource(source),
    env: body.envVars ?? {},
    metadata: body.metadata ?? {},
    timeout_secs: body.timeout ?? defaultTimeoutSecs(config),
    on_timeout: body.autoPause === true ? 'pause' : 'terminate',
    idle_timeout_secs: null,
    auto_resume: body.autoResume?.enabled === true,
    network_policy,
    secrets: [],
  }
}

/** Refuses wishes that this service does not grant. Silence would break the program later. */
function refuseAbsent({
  timeout,
  iam,
  volumeMounts,
  autoPause,
  autoPauseMemory,
  autoResume,
  network,
}: NewSandbox): void {
  if (timeout === 0) throw new E2bError(400, 'timeout must be at least 1')
  if (Object.keys(iam?.tokens ?? {}).length > 0) throw new E2bError(400, 'iam.tokens is not part of this service')
  if ((volumeMounts ?? []).length > 0) throw new E2bError(400, 'volumeMounts is not part of this service')
  if (autoPauseMemory === false && autoResume?.enabled === true)
    throw new E2bError(400, 'autoResume.enabled needs autoPauseMemory: true')
  if (autoResume?.enabled === true && autoPause !== true)
    throw new E2bError(400, 'autoResume.enabled needs autoPause: true')
  if ((network?.httpsPorts ?? []).length > 0) throw new E2bError(400, 'network.httpsPorts is not part of this service')
}

function asSource(source: NamedSource): Pick<CreateRuntime, 'template' | 'snapshot'> {
  return 'template' in source ? { template: source.template.template_id } : { snapshot: source.snapshotId }
}

function settingsOf({ publicPorts }: E2bConfig, { network }: NewSandbox): SandboxSettings {
  const { allowPublicTraffic = true, maskRequestHost = null } = network ?? {}
  return { publicPorts: publicPorts && allowPublicTraffic, maskRequestHost, network: network ?? null }
}
