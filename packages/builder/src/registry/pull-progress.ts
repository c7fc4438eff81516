import type { CopyProgress } from './fetch-layers.ts'

/** The minimum time between two lines of one part, in milliseconds. People read them. */
const everyMs = 2000

/**
 * Turns the progress of a pull into lines for people: at the begin and the end of each part, and
 * every two seconds between.
 */
export function pullProgress(onProgress: (message: string) => void, now: () => number = () => performance.now()) {
  let said = { at: Number.NEGATIVE_INFINITY, layersDone: -1 }
  return {
    pulled: ({ layersDone, layers, bytesDone, bytes }: CopyProgress) => {
      if (layersDone === said.layersDone && now() - said.at < everyMs) return
      said = { at: now(), layersDone }
      onProgress(`pulled ${layersDone} of ${layers} layers, ${mib(bytesDone)} of ${mib(bytes)}`)
    },
    read: (done: number, total: number) => {
      if (done === 0) onProgress('verifying the layers')
      if (done === total) onProgress('writing the image')
    },
  }
}

function mib(bytes: number): string {
  const amount = bytes / 2 ** 20
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} MiB`
}
