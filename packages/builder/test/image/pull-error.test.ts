import { longestPieceMs } from '@holt/testkit'
import { expect, test } from 'vitest'
import { pullError } from '../../src/image/pull-image.ts'

/** Messages of skopeo 1.9, with ports and names that look like a status. */
const line = (message: string) => `time="2026-01-01T04:04:03Z" level=fatal msg="${message}"\n`
const registry = '127.0.0.1:40403'
const begin = `initializing source docker://${registry}/a404/denied:1: `
const reading = `${begin}reading manifest 1 in ${registry}/a404/denied: `

test.each([
  [`${reading}manifest unknown: manifest unknown`, 'image_not_found'],
  [`${reading}StatusCode: 404, `, 'image_not_found'],
  [`${reading}unauthorized: authentication required`, 'image_refused'],
  [`${reading}StatusCode: 403, `, 'image_refused'],
  [`${begin}no image found in image index for architecture amd64, variant \\"\\", OS linux`, 'platform_missing'],
])('%s is %s', (message, code) => {
  expect(pullError('ref', line(message))).toMatchObject({ code })
})

test.each([
  [
    `${begin}pinging container registry ${registry}: Get \\"http://${registry}/v2/\\": dial tcp ${registry}: connect: connection refused`,
    'connection refused',
  ],
  [
    `${begin}pinging container registry none.test: Get \\"https://none.test/v2/\\": dial tcp: lookup none.test on 192.0.2.1:53: no such host`,
    'no such host',
  ],
  [`${reading}received unexpected HTTP status: 500 Internal Server Error`, '500 Internal Server Error'],
  [`${reading}StatusCode: 429, `, '429'],
])('%s is unreachable, with the reason', (message, why) => {
  const before = line('Failed, retrying in 1s ... (1/1). Error: manifest unknown')
  expect(pullError('ref', before + line(message))).toMatchObject({
    code: 'source_unreachable',
    message: `ref could not be fetched: ${why}.`,
  })
})

// The search for Go's cause was cubic: the first of these took six seconds.
test.each([
  ['letters before a colon', `${'x'.repeat(2_000)}:`],
  ['letters by the megabyte', 'x'.repeat(1 << 20)],
  ['texts like addresses', 'x:1y'.repeat(1 << 18)],
  ['manifests by the megabyte', 'manifest'.repeat(1 << 17)],
])('a long message of a registry in %s does not block the thread', (_, words) => {
  const before = process.threadCpuUsage()
  pullError('ref', line(`${begin}${words}`))
  const { user, system } = process.threadCpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(longestPieceMs)
})
