import type { Command } from 'commander'
import { runDaemonVerb } from '../daemon/run-daemon-verb.ts'
import { act } from '../verb/verb.ts'

const examples = {
  export: `
Examples:
  holt export store.jsonl          whether the service runs or not
  holt export --force store.jsonl  overwrites the file
  holt export - | zstd > store.jsonl.zst`,
  import: `
The command lists files that are missing in the state directory (images, checkpoints). Webhooks stay disabled until you enable them, because the store may be a copy.

Examples:
  holt import store.jsonl
  holt import --keep-webhooks store.jsonl   if the original store is no longer used
  HOLT_DATABASE_URL=postgres://holt@db.example.com/holt holt import store.jsonl`,
} as const

const descriptions = {
  export: 'write all rows of the service to a file of this machine (-: stdout)',
  import: 'fill the empty store of a stopped service from such a file (-: stdin)',
} as const

const options = {
  export: ['--force', 'overwrite an existing file'],
  import: ['--keep-webhooks', 'keep webhooks enabled'],
} as const

/**
 * Adds `holt export`: writes the store of the service on this machine to a file. Any store of this
 * version or a newer one can import it.
 */
export function addExport(program: Command): void {
  addTransfer(program, 'export')
}

/** Adds `holt import`: fills an empty store from such a file. */
export function addImport(program: Command): void {
  addTransfer(program, 'import')
}

function addTransfer(program: Command, verb: 'export' | 'import'): void {
  const [flag, what] = options[verb]
  const command = program
    .command(verb)
    .description(descriptions[verb])
    .argument('<file>')
    .option(flag, what)
    .option(
      '--state-dir <path>',
      'the state directory of the installation (default: HOLT_STATE_DIR, else /var/lib/holt)',
    )
    .addHelpText('after', examples[verb])
  act(command, async (file: string, given: { stateDir?: string; force?: boolean; keepWebhooks?: boolean }) => {
    if (given.stateDir !== undefined) process.env.HOLT_STATE_DIR = given.stateDir
    const isGiven = given.force === true || given.keepWebhooks === true
    return runDaemonVerb(isGiven ? [verb, file, flag] : [verb, file])
  })
}
