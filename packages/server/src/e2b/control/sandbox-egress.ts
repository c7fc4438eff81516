import { decideEgress, E2bError, type EgressWish } from '@holt/e2b'
import { PolicyBody, type WantedPolicy } from '@holt/protocol'
import type { E2bConfig } from '../../foundation/config/e2b-settings.ts'

/**
 * The ports of destinations that are addresses, and of the Internet. A rule names at most 64 ports.
 * They are those of the web, of databases, of mail, of version control and of usual services.
 */
const openPorts = [
  ...[443, 80, 20, 21, 22, 25, 53, 88, 110, 143, 389, 465, 587, 636, 853, 873, 989, 990, 993, 995],
  ...[1194, 1433, 1521, 1883, 2049, 2181, 2375, 2376, 3000, 3306, 3389, 4222, 4317, 4318, 5000, 5222],
  ...[5432, 5601, 5672, 5984, 6333, 6379, 6443, 7474, 7687, 8000, 8080, 8081, 8086, 8123, 8443, 8529],
  ...[8883, 8888, 9000, 9042, 9092, 9200, 9418, 9443, 11211, 11371, 27017, 50051],
]

const namePorts = [443, 80]

/** Returns the network policy of a wish. Throws the error of a wish that is not granted. */
export function policyOf({ egress: mode, internetPolicy }: E2bConfig, wish: EgressWish): WantedPolicy {
  const egress = decideEgress(mode, wish)
  if (egress.type === 'refused') throw new E2bError(egress.status, egress.message)
  if (egress.type === 'nothing') return null
  if (egress.type === 'internet') return internetPolicy ?? everyHost
  const isNetwork = (host: string) => host.includes('/')
  const allow = egress.hosts.map((host) => ({ host, ports: isNetwork(host) ? openPorts : namePorts }))
  const parsed = PolicyBody.safeParse({ allow })
  if (parsed.success) return parsed.data
  throw new E2bError(400, `network.allowOut: ${parsed.error.issues[0]?.message ?? 'is not valid'}`)
}

const everyHost: PolicyBody = {
  allow: [{ host: '*', ports: openPorts }],
  include: [],
  allow_all_hosts: true,
}
