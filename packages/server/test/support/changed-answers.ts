import { Readable } from 'node:stream'
import { json } from 'node:stream/consumers'
import type { FakeGuest } from '@holt/engine-testkit/fake'

type Fields = Readonly<Record<string, unknown>>

/**
 * Has a guest answer something else at a path from now on. Fields that are undefined are left out.
 */
export function changeAnswers(guest: FakeGuest | null, path: string, change: (answer: Fields) => Fields): void {
  if (guest === null) throw new Error('there is no guest')
  const request = guest.request.bind(guest)
  guest.request = async (asked) => {
    const answer = await request(asked)
    if (asked.path !== path || answer.status !== 200) return answer
    const changed = change((await json(answer.body)) as Fields)
    return { ...answer, body: Readable.from([Buffer.from(JSON.stringify(changed))]) }
  }
}
