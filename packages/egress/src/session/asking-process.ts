import { z } from 'zod'
import type { AskingProcess } from '../contract.ts'

/** The whole header, in characters. */
const maxHeader = 1024

const Process = z.object({
  pid: z.number().int().min(0).max(0x7fff_ffff),
  name: z
    .string()
    .max(64)
    // Made for logs and terminals: nothing that moves the cursor or turns the text around.
    .transform((name) => name.replace(/[^\x20-\x7e]/g, '?')),
  uid: z.number().int().min(0).max(0xffff_ffff),
})

/**
 * Reads what the guest says of the process that asked; null for what is missing or not of the form.
 * It is never decided on.
 */
export function readProcess(header: string | string[] | undefined): AskingProcess | null {
  if (typeof header !== 'string' || header.length > maxHeader) return null
  try {
    return Process.safeParse(JSON.parse(Buffer.from(header, 'base64').toString('utf8'))).data ?? null
  } catch {
    return null
  }
}
