import { z } from 'zod'

const opt = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().transform((value) => value ?? undefined)

const Destinations = z.array(z.string().min(1).max(255)).max(256)

const outgoing = {
  allowOut: opt(Destinations),
  denyOut: opt(Destinations),
  dnsServers: opt(z.array(z.string())),
  egressProxy: z.unknown().optional(),
  rules: opt(z.record(z.string(), z.unknown())),
}

/** The network of a create. */
export const NetworkConfig = z.object({
  ...outgoing,
  allowPublicTraffic: opt(z.boolean()),
  maskRequestHost: opt(
    z
      .string()
      .min(1)
      .max(255)
      .regex(/^[\x21-\x7e]+$/, 'must be a host'),
  ),
  httpsPorts: opt(z.array(z.number().int().min(1).max(65_535))),
})
export type NetworkConfig = z.output<typeof NetworkConfig>

/** The body of a change of a network, which replaces all of it. */
export const NetworkUpdate = z.object({ ...outgoing, allow_internet_access: opt(z.boolean()) })
export type NetworkUpdate = z.output<typeof NetworkUpdate>
