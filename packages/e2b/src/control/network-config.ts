import { z } from 'zod'
import { optional } from '../json/optional.ts'

const Destinations = z.array(z.string().min(1).max(255)).max(256)

const outgoing = {
  allowOut: optional(Destinations),
  denyOut: optional(Destinations),
  dnsServers: optional(z.array(z.string())),
  egressProxy: z.unknown().optional(),
  rules: optional(z.record(z.string(), z.unknown())),
}

/** The network of a create. */
export const NetworkConfig = z.object({
  ...outgoing,
  allowPublicTraffic: optional(z.boolean()),
  maskRequestHost: optional(
    z
      .string()
      .min(1)
      .max(255)
      .regex(/^[\x21-\x7e]+$/, 'must be a host'),
  ),
  httpsPorts: optional(z.array(z.number().int().min(1).max(65_535))),
})
export type NetworkConfig = z.output<typeof NetworkConfig>

/** The body of a change of a network, which replaces all of it. */
export const NetworkUpdate = z.object({ ...outgoing, allow_internet_access: optional(z.boolean()) })
export type NetworkUpdate = z.output<typeof NetworkUpdate>
