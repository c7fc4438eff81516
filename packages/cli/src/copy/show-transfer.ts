import type { TransferProgress, TransferResult } from '@holt/sdk'
import { say } from '../output/print.ts'
import { Progress } from '../output/progress.ts'
import { printable } from '../output/report-error.ts'

/** Shows a transfer on a terminal while it goes, and tells at the end what was left out. */
export async function showTransfer(
  what: string,
  transfer: (onProgress: (progress: TransferProgress) => void) => Promise<TransferResult>,
): Promise<TransferResult> {
  const progress = new Progress()
  const onProgress = ({ bytes, totalBytes }: TransferProgress) => {
    // Drawing is only for the eye: it never holds up the transfer.
    if (process.stderr.isTTY) void progress.update({ phase: what, done: bytes, total: totalBytes })
  }
  let result: TransferResult
  try {
    result = await transfer(onProgress)
  } catch (error) {
    progress.fail(`${what}: failed`)
    throw error
  }
  progress.end(`${what}: ${result.files} files`)
  for (const { path, reason } of result.skipped) say(`holt: left out ${printable(path)}: ${printable(reason)}`)
  return result
}
