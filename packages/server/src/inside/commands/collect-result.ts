import type { GuestItem } from '@holt/guest-client'
import type { GuestExit } from './decode-output.ts'
import { type GatheredOutput, type OutputBounds, OutputHead } from './output-head.ts'

/** The result of a command that a client has waited for. */
export interface Collected {
  readonly exit: Omit<GuestExit, 'type' | 'cursor'>
  readonly stdout: GatheredOutput
  readonly stderr: GatheredOutput
}

/**
 * Reads a command to its end. Keeps the first `maxOutputBytes` of each stream, or fewer if there is
 * no memory for them. The output route has the rest, as long as the guest keeps it.
 */
export async function collectResult(items: AsyncIterable<GuestItem>, bounds: OutputBounds): Promise<Collected> {
  const output = { stdout: new OutputHead(bounds), stderr: new OutputHead(bounds) }
  let exit: Collected['exit'] = { exit_code: null, signal: null, timed_out: false }
  for await (const item of items) {
    if (item.type === 'stdout' || item.type === 'stderr') output[item.type].add(Buffer.from(item.data, 'base64'))
    else if (item.type === 'exit') exit = item
  }
  return { exit, stdout: output.stdout.gathered(), stderr: output.stderr.gathered() }
}
