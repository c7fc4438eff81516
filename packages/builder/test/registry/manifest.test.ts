import fc from 'fast-check'
import { expect, test } from 'vitest'
import { defaultLimits } from '../../src/image/image-limits.ts'
import { hostArchitecture } from '../../src/image/platform.ts'
import { BuildError } from '../../src/index.ts'
import {
  chooseFromIndex,
  digestOf,
  type ManifestBytes,
  manifestTypes,
  readImageManifest,
} from '../../src/registry/manifest.ts'

const [index = '', image = ''] = manifestTypes
const bytesOf = (body: unknown, mediaType: string): ManifestBytes => {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return { bytes, mediaType, digest: digestOf(bytes) }
}
const digest = (letter: string) => `sha256:${letter.repeat(64)}`
const entry = (letter: string, architecture: string, variant?: string, mediaType = image) => ({
  mediaType,
  digest: digest(letter),
  size: 1,
  platform: { os: 'linux', architecture, ...(variant === undefined ? {} : { variant }) },
})

test.each([
  ['the one of this host', [entry('a', 's390x'), entry('b', hostArchitecture)], 'b'],
  ['the plain one of several variants', [entry('a', hostArchitecture, 'v3'), entry('b', hostArchitecture)], 'b'],
  ['a variant where there is no plain one', [entry('a', hostArchitecture, 'v2')], 'a'],
  ['none that is an index itself', [entry('a', hostArchitecture, undefined, index), entry('b', hostArchitecture)], 'b'],
  [
    'none that attests something',
    [{ ...entry('a', 'unknown'), platform: { os: 'unknown', architecture: 'unknown' } }, entry('b', hostArchitecture)],
    'b',
  ],
])('of an index, %s is selected', (_what, manifests, letter) => {
  expect(chooseFromIndex(bytesOf({ schemaVersion: 2, manifests }, index), 'ref')).toBe(digest(letter))
})

test('an index without an image for this host lists its platforms', () => {
  const manifests = [entry('a', 's390x'), entry('b', 'riscv64')]
  expect(() => chooseFromIndex(bytesOf({ manifests }, index), 'ref')).toThrow(
    expect.objectContaining({ code: 'image_unsupported', hint: 'It has: s390x, riscv64.' }),
  )
})

test('any manifest is parsed or not supported', () => {
  const word = fc.constantFrom(
    'schemaVersion',
    'mediaType',
    'manifests',
    'layers',
    'config',
    'digest',
    'size',
    'platform',
  )
  const value = fc.oneof(fc.constantFrom(2, image, index, digest('a')), fc.jsonValue())
  const body = fc.oneof(fc.dictionary(word, value), fc.jsonValue(), fc.string())
  fc.assert(
    fc.property(body, fc.constantFrom(...manifestTypes, 'text/html', ''), (content, mediaType) => {
      for (const read of [chooseFromIndex, readImageManifest]) {
        try {
          read(bytesOf(content, mediaType), 'ref', defaultLimits)
        } catch (error) {
          expect(error).toBeInstanceOf(BuildError)
          expect(error).toMatchObject({ code: 'image_unsupported' })
        }
      }
    }),
  )
})

test('a list that is far too long takes linear time', () => {
  const body = `{"manifests":[${Array(300_000).fill('{}').join(',')}]}`
  let thrown: unknown
  try {
    chooseFromIndex(bytesOf(body, index), 'ref')
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({ code: 'image_unsupported' })
  // One about the length, and none about each of the members.
  expect((thrown as BuildError).cause).toMatchObject({ issues: [{ code: 'custom' }] })
})
