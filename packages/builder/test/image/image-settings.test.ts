import fc from 'fast-check'
import { expect, test } from 'vitest'
import { settingsOf } from '../../src/image/image-settings.ts'
import type { ImageConfig } from '../../src/image/read-layout.ts'

const nothing = async () => null
const config = (change: Partial<ImageConfig>): ImageConfig => ({
  architecture: 'amd64',
  user: '',
  workdir: '',
  env: [],
  entrypoint: [],
  shell: [],
  onBuild: [],
  labels: {},
  ports: [],
  command: [],
  ...change,
})

test('variables that identify the image are left out, and the others are kept', async () => {
  const skipped = ['PATH=/opt/bin', 'HOME=/h', 'HOSTNAME=h', 'SHELL=/bin/zsh', 'USER=u', 'LOGNAME=u']
  const env = [...skipped, 'LANG=C.UTF-8', 'my.name-1=a=b', 'EMPTY=', 'LANG=de', 'LINES=a\nb', '__proto__=p']
  const settings = await settingsOf(config({ env }), nothing)
  expect(Object.entries(settings.env)).toEqual([
    ['LANG', 'de'],
    ['my.name-1', 'a=b'],
    ['EMPTY', ''],
    ['LINES', 'a\nb'],
    ['__proto__', 'p'],
  ])
})

test('invalid variables are left out', async () => {
  const settings = await settingsOf(config({ env: ['NOVALUE', '=x', 'NUL=a\0b', 'A\0=1', ''] }), nothing)
  expect(settings.env).toEqual({})
})

test.each([
  ['', '/'],
  ['/', '/'],
  ['/app/', '/app'],
  ['app', '/app'],
  ['/a/../../b', '/b'],
])('WORKDIR %j is %j', async (workdir, expected) => {
  expect((await settingsOf(config({ workdir }), nothing)).workdir).toBe(expected)
})

test.each([
  ['an environment that no process could be given', { env: [`A=${'x'.repeat(200_000)}`] }, 'image_too_large'],
  ['a working directory with a NUL byte', { workdir: '/a\0b' }, 'image_invalid'],
  ['a working directory that is too long', { workdir: `/${'a/'.repeat(3000)}` }, 'image_invalid'],
])('refuses %s', async (_what, change, code) => {
  await expect(settingsOf(config(change), nothing)).rejects.toMatchObject({ code })
})

test('for any image, the working directory is an absolute path without ..', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: fc.constantFrom('/', '.', 'a', '\\', ' ', 'é') }), async (workdir) => {
      const answer = (await settingsOf(config({ workdir }), nothing)).workdir
      expect(answer).toMatch(/^\//)
      expect(answer.split('/')).not.toContain('..')
    }),
  )
})
