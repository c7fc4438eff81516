import { z } from 'zod'
import { storedJson } from '../../foundation/store/stored-json.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'

const SandboxSettings = z.object({
  /** False: every visit to a port needs the traffic token of the runtime. */
  publicPorts: z.boolean(),
  /** The Host that programs see; `${PORT}` stands for the port. Null: that of the client. */
  maskRequestHost: z.string().nullable(),
  /** The network as its create gave it, for answers. Null: it gave none. */
  network: z.record(z.string(), z.unknown()).nullable(),
})

/** The settings of a runtime that a client of E2B made. */
export type SandboxSettings = Readonly<z.infer<typeof SandboxSettings>>

/**
 * Returns the settings of a runtime that a client of E2B made. Returns null for another runtime,
 * whose ports are private. Damaged settings make them private, too.
 */
export function sandboxSettingsOf({ e2b_json }: Pick<RuntimeRow, 'e2b_json'>): SandboxSettings | null {
  return e2b_json === null ? null : (SandboxSettings.safeParse(storedJson(e2b_json)).data ?? null)
}
