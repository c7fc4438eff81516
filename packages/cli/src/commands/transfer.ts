import type { Command } from 'commander'
import { runDaemonVerb } from '../daemon/run-daemon-verb.ts'
import { act } from '../verb.ts'

const examples = {
  export: `
Examples:
  holt export store.jsonl          while the service runs, or when it does not
  holt export --force store.jsonl  where there is such a file already
  holt export - | zstd > store.jsonl.zst`,
  import: `
What is missing in the state directory (images, checkpoints) is told. Webhooks send nothing until they are enabled, since the store may be a copy.

Examples:
  holt import store.jsonl
  holt import --keep-webhooks store.jsonl   where the store that it was made of is used no more
  HOLT_DATABASE_URL=postgres://holt@db.example.com/holt holt import store.jsonl`,
} as const

const words = {
  export: 'write all rows of the service to a file of this machine (-: stdout)',
  import: 'fill the empty store of a service that does not run from such a file (-: stdin)',
} as const

const options = {
  export: ['--force', 'overwrite a file that is there'],
  import: ['--keep-webhooks', 'let webhooks go on sending'],
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
    .description(words[verb])
    .argument('<file>')
    .option(flag, what)
    .option('--state-dir <path>', 'of which installation (default: HOLT_STATE_DIR, else /var/lib/holt)')
    .addHelpText('after', examples[verb])
  act(command, async (file: string, given: { stateDir?: string; force?: boolean; keepWebhooks?: boolean }) => {
    if (given.stateDir !== undefined) process.env.HOLT_STATE_DIR = given.stateDir
    const isGiven = given.force === true || given.keepWebhooks === true
    return runDaemonVerb(isGiven ? [verb, file, flag] : [verb, file])
  })
}
