// Speaks to the egress socket as a hostile root would: HTTP/2 without the guest in between.
// Argument: JSON, a list of requests: header fields, and what to send on the stream once it is answered. Output: a list with the status, the reason and what came back.
import { connect as connectSession } from 'node:http2'
import { connect } from 'node:net'

function request(session, { headers, send }) {
  return new Promise((resolve) => {
    const outcome = { status: null, reason: null, received: '', end: null }
    let stream
    try {
      stream = session.request(headers, { endStream: false })
    } catch (error) {
      return resolve({ ...outcome, end: error.code })
    }
    stream.setTimeout(30_000, () => {
      outcome.end = 'nothing'
      stream.close()
    })
    stream.on('response', (fields) => {
      outcome.status = fields[':status']
      outcome.reason = fields['x-holt-reason'] ?? null
      stream.end(send === undefined ? undefined : Buffer.from(send, 'latin1'))
    })
    stream.on('data', (part) => (outcome.received += part.toString('latin1')))
    stream.on('end', () => (outcome.end ??= 'end'))
    stream.on('error', (error) => (outcome.end ??= error.code))
    stream.on('close', () =>
      resolve({ ...outcome, end: stream.rstCode === 0 ? outcome.end : `reset ${stream.rstCode}` }),
    )
  })
}

const outcomes = []
for (const one of JSON.parse(process.argv[1])) {
  // One for each: what breaks the protocol ends its session.
  const session = connectSession('http://egress', { createConnection: () => connect('/run/holt/egress.sock') })
  session.on('error', () => undefined)
  outcomes.push(await request(session, one))
  session.destroy()
  await new Promise((resolve) =>
    session.closed || session.destroyed ? setImmediate(resolve) : session.once('close', resolve),
  )
}
console.log(JSON.stringify(outcomes))
