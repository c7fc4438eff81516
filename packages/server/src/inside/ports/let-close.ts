import type { PortStream } from '@holt/guest-client'

/** The time for a program to close a connection after its answer, in milliseconds. */
const farewellMs = 1_000

/**
 * Waits until a finished connection ends by itself, so that the program sees an end and no reset.
 * After a time limit the caller ends it.
 */
export async function letClose(connection: PortStream): Promise<void> {
  if (connection.destroyed) return
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, farewellMs)
    connection.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    connection.resume()
    connection.end()
  })
}
