import type { Command } from 'commander'
import { runDaemonVerb } from '../daemon/run-daemon-verb.ts'
import { act } from '../verb.ts'

const examples = {
  export: `
Examples:
  holt export store.jsonl          while the service runs, or when it does not
  holt export - | zstd > store.jsonl.zst`,
  import: `
Examples:
  holt import store.jsonl
  HOLT_DATABASE_URL=postgres://holt@db.example.com/holt holt import store.jsonl`,
} as const

const words = {
  export: 'write all rows of the service to a file of this machine (-: stdout)',
  import: 'fill the empty store of a service that does not run from such a file (-: stdin)',
} as const

/** Adds `holt export` and `holt import`: the store of the service on this machine, as a file that any store of this version or a newer one takes in. */
export function addTransfer(program: Command): void {
  for (const verb of ['export', 'import'] as const) {
    const command = program
      .command(verb)
      .description(words[verb])
      .argument('<file>')
      .option('--state-dir <path>', 'of which installation (default: HOLT_STATE_DIR, else /var/lib/holt)')
      .addHelpText('after', examples[verb])
    act(command, async (file: string, options: { stateDir?: string }) => {
      if (options.stateDir !== undefined) process.env.HOLT_STATE_DIR = options.stateDir
      return runDaemonVerb([verb, file])
    })
  }
}
