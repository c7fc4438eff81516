import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import type { FakeGuest } from '@holt/engine-testkit/fake'

type Fields = Readonly<Record<string, unknown>>

/**
 * Has a guest answer something else at a path from now on, or at every path that matches. Fields
 * that are undefined are left out.
 */
export function changeAnswers(
  guest: FakeGuest | null,
  path: string | RegExp,
  change: (answer: Fields) => Fields,
): void {
  if (guest === null) throw new Error('there is no guest')
  const request = guest.request.bind(guest)
  guest.request = async (asked) => {
    const answer = await request(asked)
    const isMeant = typeof path === 'string' ? asked.path === path : path.test(asked.path)
    if (!isMeant || answer.status !== 200) return answer
    const changed = change((await json(answer.body)) as Fields)
    return { ...answer, body: Readable.from([Buffer.from(JSON.stringify(changed))]) }
  }
}
