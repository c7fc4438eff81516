import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { SmallS3 } from '@holt/testkit/small-s3'
import { expect, test } from 'vitest'
import { checkObjectStore } from '../../../src/daemon/doctor/object-store-checks.ts'

test('a machine without an object store has no check of it', async () => {
  expect(await checkObjectStore(null, {})).toEqual([])
})

test('the check writes, reads and removes an object', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holt-checked-'))
  try {
    const url = pathToFileURL(directory).href
    expect(await checkObjectStore({ url, artifactKey: 'ab'.repeat(32) }, {})).toMatchObject([
      { status: 'ok', message: expect.stringContaining('encrypted') },
    ])
    expect(await checkObjectStore({ url, artifactKey: null }, {})).toMatchObject([
      { status: 'warn', message: expect.stringContaining('HOLT_ARTIFACT_KEY') },
    ])
    expect(await readdir(directory)).toEqual(['.unfinished'])
  } finally {
    await rm(directory, { recursive: true })
  }
})

test('the check names what is wrong with an object store', async () => {
  await using s3 = await SmallS3.start()
  const problemOf = async (settings: { url: string; artifactKey: string | null }, env = {}) => {
    const [check] = await checkObjectStore(settings, env)
    return check
  }
  const url = s3.url
  expect(await problemOf({ url, artifactKey: null }, { HOME: '/nowhere' })).toMatchObject({
    status: 'fix',
    message: expect.stringContaining('AWS_ACCESS_KEY_ID'),
  })
  const stranger = { AWS_ACCESS_KEY_ID: 'stranger', AWS_SECRET_ACCESS_KEY: 'x' }
  expect((await problemOf({ url, artifactKey: null }, stranger))?.message).toContain('AccessDenied')
  expect((await problemOf({ url: 'file:///not/mounted', artifactKey: null }))?.message).toContain('is missing')
  expect((await problemOf({ url, artifactKey: '/not/there' }, s3.env))?.message).toContain('/not/there')
  s3.faults.flipsBit = true
  expect((await problemOf({ url, artifactKey: null }, s3.env))?.message).toContain('not those that were written')
})
