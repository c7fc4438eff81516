import { z } from 'zod'
import type { AskingProcess } from '../contract/gateway-contract.ts'

/** The maximum number of characters of the whole header. */
const maxHeader = 1024

const Process = z.object({
  pid: z.number().int().min(0).max(0x7fff_ffff),
  name: z
    .string()
    .max(64)
    // Safe for logs and terminals: no characters that move the cursor or change the direction of
    // text.
    .transform((name) => name.replace(/[^\x20-\x7e]/g, '?')),
  uid: z.number().int().min(0).max(0xffff_ffff),
})

/**
 * Reads the guest's report of the process that made the request. Returns null if it is missing or
 * malformed. No decision uses it.
 */
export function readProcess(header: string | string[] | undefined): AskingProcess | null {
  if (typeof header !== 'string' || header.length > maxHeader) return null
  try {
    return Process.safeParse(JSON.parse(Buffer.from(header, 'base64').toString('utf8'))).data ?? null
  } catch {
    return null
  }
}
