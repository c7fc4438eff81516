import { constants } from 'node:http2'
import { answerQuestion, verbProtocol } from '../peers/peer-verbs.ts'
import type { StrangerStream } from '../peers/strangers.ts'
import { joinPath } from './join-question.ts'
import { answerJoin, type JoinParts } from './join-verbs.ts'

/** The maximum number of bytes of a request to join. */
const maxBytes = 16 * 1024

/** Returns the function that answers a machine without a certificate: a join, and nothing else. */
export function joinDoor(parts: JoinParts): (asked: StrangerStream) => Promise<void> {
  return async ({ address, stream, headers }) => {
    const isJoin =
      headers[':method'] === 'CONNECT' && headers[':protocol'] === verbProtocol && headers[':path'] === joinPath
    if (!isJoin) return stream.close(constants.NGHTTP2_REFUSED_STREAM)
    await answerQuestion(stream, (question) => answerJoin(parts, { question, address }), maxBytes)
  }
}
