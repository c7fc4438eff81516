import { execFile } from 'node:child_process'
import { constants, copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { canAccess } from '../../foundation/config/can-access.ts'

/** The time limit of the program that renews the store of the system, in milliseconds. */
const renewTimeoutMs = 60_000

/**
 * The places for authorities in distributions: a directory, the program that reads it, and its
 * command after a removal. Without `--fresh`, Debian's program leaves links to removed files.
 */
const stores = [
  {
    dir: '/usr/local/share/ca-certificates',
    program: 'update-ca-certificates',
    afterRemoval: 'update-ca-certificates --fresh',
  },
  { dir: '/etc/pki/ca-trust/source/anchors', program: 'update-ca-trust', afterRemoval: 'update-ca-trust' },
  { dir: '/etc/pki/trust/anchors', program: 'update-ca-certificates', afterRemoval: 'update-ca-certificates' },
] as const

/** The place of a trusted authority, and the command that ends the trust. */
export interface Trusted {
  readonly file: string
  readonly undo: string
}

/** Adds an authority to those that the system trusts. Needs root. */
export async function trustAuthority(authorityFile: string, domain: string): Promise<Trusted> {
  for (const { dir, program, afterRemoval } of stores) {
    if (!(await canAccess(dir, constants.W_OK))) continue
    const file = join(dir, `holt-${domain}.crt`)
    await copyFile(authorityFile, file)
    await promisify(execFile)(program, [], { timeout: renewTimeoutMs, cwd: '/' })
    return { file, undo: `rm ${file} && ${afterRemoval}` }
  }
  throw new Error(
    `no store of trusted authorities can be written on this machine. Run it as root, or add ${authorityFile} by hand.`,
  )
}
