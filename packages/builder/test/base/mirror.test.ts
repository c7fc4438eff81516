import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { hostMirrors, parseAptSources, sourceLines } from '../../src/base/mirror.ts'

const roots: string[] = []
afterEach(async () => {
  for (const root of roots.splice(0)) await rm(root, { recursive: true })
})

async function host(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'holt-mirror-'))
  roots.push(root)
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, dirname(path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return root
}

const debian = 'ID=debian\nVERSION_CODENAME=bookworm\n'
const stanzas = `Types: deb
# a comment
URIs: https://mirror.test/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb deb-src
URIs: https://mirror.test/security
Suites: bookworm-security
Components: main
`

test('the mirrors of a Debian host with deb822 sources are used', async () => {
  const root = await host({ 'etc/os-release': debian, 'etc/apt/sources.list.d/debian.sources': stanzas })
  expect(await hostMirrors({}, root)).toEqual({
    main: 'https://mirror.test/debian',
    security: 'https://mirror.test/security',
  })
})

test('one-line sources with options are parsed, and other archives are not used as Debian', async () => {
  const text = '# deb http://old.test x main\ndeb [arch=amd64 signed-by=/k] http://m.test/d bookworm main\n'
  const other = 'deb http://vendor.test/apt stable main\n'
  const root = await host({
    'etc/os-release': debian,
    'etc/apt/sources.list': text,
    'etc/apt/sources.list.d/vendor.list': other,
  })
  expect(await hostMirrors({}, root)).toEqual({ main: 'http://m.test/d', security: null })
})

test('a disabled stanza does not count', async () => {
  const root = await host({
    'etc/os-release': debian,
    'etc/apt/sources.list.d/debian.sources': `Enabled: no\n${stanzas.split('\n\n')[0]}`,
  })
  expect(await hostMirrors({}, root)).toEqual({ main: null, security: null })
})

test('another distribution has no Debian mirror, so mmdebstrap chooses', async () => {
  const root = await host({ 'etc/os-release': 'ID=ubuntu\nVERSION_CODENAME=noble\n', 'etc/apt/sources.list': stanzas })
  const mirrors = await hostMirrors({}, root)
  expect(sourceLines(mirrors, 'trixie', ['main'])).toEqual([])
})

test('the setting of the operator is preferred to the host', async () => {
  const root = await host({ 'etc/os-release': debian, 'etc/apt/sources.list.d/debian.sources': stanzas })
  const mirrors = await hostMirrors({ HOLT_DEBIAN_MIRROR: 'http://local.test/debian' }, root)
  expect(mirrors).toEqual({ main: 'http://local.test/debian', security: null })
  expect(sourceLines(mirrors, 'trixie', ['main']).map((line) => line.replace(/\[.*\] /, ''))).toEqual([
    'deb http://local.test/debian trixie main',
    'deb http://local.test/debian trixie-updates main',
  ])
})

test('no text makes the parser of sources throw', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => Array.isArray(parseAptSources(text))))
})
