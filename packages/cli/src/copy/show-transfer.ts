import type { TransferProgress, TransferResult } from '@holt/sdk'
import { say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { amount, TransferLine } from './transfer-line.ts'

/** Shows a transfer on a terminal, and prints at the end which paths were left out. */
export async function showTransfer(
  what: string,
  transfer: (onProgress: (progress: TransferProgress) => void) => Promise<TransferResult>,
): Promise<TransferResult> {
  const line = new TransferLine(printable(what))
  const startMs = performance.now()
  let result: TransferResult
  try {
    result = await transfer((progress) => line.update(progress))
  } finally {
    line.clear()
  }
  const seconds = (performance.now() - startMs) / 1000
  if (process.stderr.isTTY)
    say(`${printable(what)}: ${result.files} files, ${amount(result.bytes)} in ${seconds.toFixed(1)} s`)
  for (const { path, reason } of result.skipped) say(`holt: left out ${printable(path)}: ${printable(reason)}`)
  return result
}
