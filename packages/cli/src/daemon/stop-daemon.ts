import { startTimeOf } from './state.ts'

/**
 * The service writes nothing at its end that it could lose, so it gets no longer than a person
 * likes to wait.
 */
const politeMs = 10_000
const pollMs = 25

/** Stops a process: asks it, and kills it when it has not ended in time. Answers how it went. */
export async function stopProcess(pid: number): Promise<'ended' | 'killed'> {
  const startTime = await startTimeOf(pid)
  if (startTime === null) return 'ended'
  const isGone = async () => (await startTimeOf(pid)) !== startTime
  if (await signalAndWait(pid, 'SIGTERM', isGone)) return 'ended'
  if (await signalAndWait(pid, 'SIGKILL', isGone)) return 'killed'
  throw new Error(`Process ${pid} does not end, not even by SIGKILL`)
}

async function signalAndWait(pid: number, signal: NodeJS.Signals, isGone: () => Promise<boolean>): Promise<boolean> {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true
    throw error
  }
  const deadline = Date.now() + politeMs
  while (Date.now() < deadline) {
    if (await isGone()) return true
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
  return isGone()
}
