import { type Readable, Transform } from 'node:stream'
import { mergePieces } from '@holt/async'
import { EngineError } from '@holt/engine'
import { passOn } from '../../foundation/wire/pass-on.ts'

/**
 * Returns a stream of a body that fails unless the body has exactly `length` bytes. A guest that
 * sends more than it announces would otherwise write the beginning of the client's next answer.
 */
export function exactLength(body: Readable, length: number): Readable {
  let left = length
  const counted = new Transform({
    highWaterMark: 256 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      left -= chunk.length
      done(left < 0 ? new EngineError('wrong_answer', 'the guest sent more than it announced') : null, chunk)
    },
    flush(done) {
      done(left === 0 ? null : new EngineError('wrong_answer', 'the guest sent less than it announced'))
    },
  })
  return passOn(body, mergePieces(counted), new EngineError('unavailable', 'the guest ended early'))
}
