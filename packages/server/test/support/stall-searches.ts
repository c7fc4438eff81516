import { PassThrough } from 'node:stream'
import type { FakeGuest } from '@holt/engine-testkit/fake'

/**
 * Has a guest answer every search with one match and then nothing more, for as long as somebody
 * waits.
 */
export function stallSearches(guest: FakeGuest): void {
  const answerOthers = guest.request.bind(guest)
  guest.request = async (request) => {
    if (request.path.split('?', 1)[0] !== '/v1/files/search') return answerOthers(request)
    const body = new PassThrough()
    const nothing = { line: null, column: null, length: null, text: null, text_truncated: false }
    body.write(`${JSON.stringify({ type: 'match', cursor: 1, path: '/tmp/large', kind: 'file', ...nothing })}\n`)
    request.signal.addEventListener('abort', () => body.destroy(), { once: true })
    return { status: 200, headers: {}, body }
  }
}
