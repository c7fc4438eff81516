import { E2bError, type NetworkUpdate } from '@holt/e2b'
import { setRuntimeNetwork } from '../../runtimes/settings/set-network.ts'
import { changeSettings } from '../../runtimes/state/change-settings.ts'
import type { E2bAnswer } from '../answers/write-answer.ts'
import { type SandboxSettings, sandboxSettingsOf } from '../sandbox/sandbox-settings.ts'
import type { ControlCall } from './control-call.ts'
import { e2bConfig } from './e2b-config.ts'
import { findLive } from './find-live.ts'
import { policyOf } from './sandbox-egress.ts'

/** Replaces the network of a running sandbox. */
export async function changeNetwork({
  service,
  caller,
  body,
  ref,
  gone,
}: ControlCall<NetworkUpdate, unknown>): Promise<E2bAnswer> {
  const row = await findLive(service, ref)
  if (row.state !== 'running') throw new E2bError(409, 'The sandbox does not run')
  // A field that is left out is cleared, as the SDKs say: docs/decisions/021.
  const { allow_internet_access: internet = true, ...network } = body
  const config = e2bConfig(service)
  const wanted = policyOf(config, { internet, network })
  await setRuntimeNetwork(service, ref, { wanted, by: caller.keyId, gone })
  const egress = { asked: body.allow_internet_access ?? null, given: wanted !== null }
  service.log.info({ runtime_id: row.runtime_id, mode: config.egress, egress }, 'a client of E2B changed a network')
  await changeSettings(service, ref, (current) => {
    const settings = sandboxSettingsOf(current)
    const kept = settings === null ? null : { ...settings, network: { ...incomingOf(settings), ...network } }
    return {
      set: kept === null ? {} : { e2b_json: JSON.stringify(kept) },
      type: 'runtime.updated',
      data: { changed: ['network'] },
    }
  })
  return { status: 204 }
}

/** Returns the settings that a change leaves as they are: those of visits from outside. */
function incomingOf({ network }: SandboxSettings): Readonly<Record<string, unknown>> {
  const { allowPublicTraffic, maskRequestHost } = network ?? {}
  return { allowPublicTraffic, maskRequestHost }
}
