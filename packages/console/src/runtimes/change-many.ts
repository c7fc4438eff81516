import type { Holt } from '@holt/sdk'

/** The changes that the table makes to many runtimes. */
export const changes = {
  pause: { title: 'Pause', done: 'paused' },
  resume: { title: 'Resume', done: 'resumed' },
  delete: { title: 'Delete', done: 'deleted' },
} as const

/** A change of a runtime. */
export type Change = keyof typeof changes

/** The changes that run at a time. */
const atOnce = 4

/** A change that failed. */
export interface Failed {
  readonly id: string
  readonly error: unknown
}

/** Changes runtimes, a few at a time. Returns the changes that failed; the others are made. */
export async function changeMany(holt: Holt, change: Change, ids: readonly string[]): Promise<readonly Failed[]> {
  const left = [...ids]
  const failed: Failed[] = []
  const work = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      try {
        await (await holt.runtimes.get(id))[change]()
      } catch (error) {
        failed.push({ id, error })
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return failed
}
