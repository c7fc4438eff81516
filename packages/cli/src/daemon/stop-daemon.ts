import { startTimeOf } from './state.ts'

/**
 * The time that the service has to end, in milliseconds. It writes nothing at its end that could be
 * lost, so the limit is short.
 */
const politeMs = 10_000
const pollMs = 25

/**
 * Stops a process with a signal, and kills it if it has not ended in time. Returns the way in which
 * it ended.
 */
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
