import { decideEgress, E2bError, type Egress, type EgressWish } from '@holt/e2b'
import { PolicyBody, type WantedPolicy } from '@holt/protocol'
import type { z } from 'zod'
import type { E2bConfig } from '../../foundation/config/e2b-settings.ts'

const namePorts = [443, 80]

/** Returns the network policy for a request. Throws `E2bError` if it is refused. */
export function policyOf({ egress: mode, internetPolicy }: E2bConfig, wish: EgressWish): WantedPolicy {
  const egress = decideEgress(mode, wish)
  if (egress.type === 'refused') throw new E2bError(egress.status, egress.message)
  if (egress.type === 'nothing') return null
  const { deny } = egress
  if (egress.type === 'internet' && internetPolicy !== null) {
    // A stored policy is followed as it is: nothing can be taken from it for one sandbox.
    if (deny.length > 0) throw new E2bError(400, 'network.denyOut: this service denies no parts of its Internet policy')
    return internetPolicy
  }
  const parsed = PolicyBody.safeParse(
    egress.type === 'internet' ? { ...everyHost, deny: [...deny] } : onlyThese(egress),
  )
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const field = issue?.path[0] === 'deny' ? 'denyOut' : 'allowOut'
  throw new E2bError(400, `network.${field}: ${issue?.message ?? 'is not valid'}`)
}

/** The Internet: every public host, and every TCP port. */
const everyHost = { allow: [{ host: '*', all_ports: true }], allow_all_hosts: true }

/** Names are reached as the web is, and networks on every port. */
function onlyThese({ hosts, deny }: Extract<Egress, { type: 'only' }>): z.input<typeof PolicyBody> {
  const isNetwork = (host: string) => host.includes('/')
  const allow = hosts.map((host) => (isNetwork(host) ? { host, all_ports: true } : { host, ports: [...namePorts] }))
  return { allow, deny: [...deny] }
}
