import type { Runtime, RuntimeState } from '@holt/protocol'
import { expect } from 'vitest'
import { service } from '../facts.ts'
import { addedTo, type Belongings, listBelongings } from '../leaks.ts'
import type { TestRuntime } from '../test-runtime.ts'
import { until } from '../until.ts'

/** Longer than any change of state takes on a busy machine. */
const timeoutMs = 60_000

/** The states that a runtime is in for a moment only. */
export const passing: ReadonlySet<RuntimeState> = new Set(['starting', 'pausing', 'resuming', 'terminating'])

/** Waits until a runtime is in a state, and answers it. */
export function stateOf(runtime: TestRuntime, state: RuntimeState): Promise<Runtime> {
  return until(
    `${runtime.id} is ${state}`,
    async () => {
      const now = await runtime.refresh()
      return now.state === state ? now : null
    },
    timeoutMs,
  )
}

/** Waits until a runtime is in no state that passes, and answers it. */
export function settled(runtime: TestRuntime): Promise<Runtime> {
  return until(
    `${runtime.id} is in a state that stays`,
    async () => {
      const now = await runtime.refresh()
      return passing.has(now.state) ? null : now
    },
    timeoutMs,
  )
}

/**
 * The belongings that were added to the installation, without the open descriptors of the daemon.
 */
export function appeared(before: Belongings): Belongings {
  return addedTo(before, listBelongings(service)).filter((line) => !line.startsWith('descriptor '))
}

/**
 * Waits until nothing belongs to the installation that did not before, and fails with what does.
 */
export async function nothingLeft(before: Belongings): Promise<void> {
  await until('nothing is left', async () => appeared(before).length === 0, timeoutMs).catch(() => undefined)
  expect(appeared(before), 'what is left').toEqual([])
}
