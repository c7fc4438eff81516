import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SmallS3 } from '@holt/testkit/small-s3'
import { expect, test } from 'vitest'
import { checkObjectStoreUrl, openObjectStore } from '../src/index.ts'

test.each([
  's3://bucket',
  's3://bucket/prefix/below?endpoint=https://s3.example.net:9000&region=eu-1',
  'file:///mnt/holt',
])('takes the address %s', (url) => {
  expect(() => checkObjectStoreUrl(url)).not.toThrow()
})

test.each([
  ['', 's3://BUCKET'],
  ['/mnt/holt', 's3://BUCKET'],
  ['file:///', 's3://BUCKET'],
  ['file://host/mnt', 's3://BUCKET'],
  ['https://bucket.example.net', 's3://BUCKET'],
  ['s3://key:secret@bucket', 'AWS_ACCESS_KEY_ID'],
  ['s3://bucket?endpoint=ftp://example.net', 'endpoint'],
  ['s3://bucket?endpoint=https://example.net/path', 'endpoint'],
  ['s3://bucket?zone=1', 'zone'],
  ['s3://bucket/../x//y', 'prefix'],
  ['s3://B', 'bucket'],
])('refuses the address %j', (url, said) => {
  expect(() => checkObjectStoreUrl(url)).toThrow(said)
})

test('takes credentials of a file, and reads a changed one again', async () => {
  await using s3 = await SmallS3.start()
  const directory = await mkdtemp(join(tmpdir(), 'holt-credentials-'))
  const file = join(directory, 'credentials')
  const env = { AWS_SHARED_CREDENTIALS_FILE: file, AWS_PROFILE: 'holt' }
  const store = openObjectStore(s3.url, { env })
  try {
    await expect(store.put('a', Buffer.alloc(1))).rejects.toMatchObject({ kind: 'refused' })
    await writeFile(file, '[default]\naws_access_key_id = nobody\naws_secret_access_key = x\n')
    await expect(store.put('a', Buffer.alloc(1))).rejects.toThrow('profile holt')
    await writeFile(
      file,
      `[other]\naws_access_key_id=nobody\n\n[holt]\naws_access_key_id = ${s3.env.AWS_ACCESS_KEY_ID}\naws_secret_access_key= abc\n`,
    )
    await store.put('a', Buffer.alloc(1))
  } finally {
    await rm(directory, { recursive: true })
  }
})
