import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BuilderError } from '../../src/index.ts'
import {
  canonicalRegistry,
  endpointsOf,
  imageAddressOf,
  isListed,
  pinnedName,
} from '../../src/registry/image-address.ts'

const digest = `sha256:${'a'.repeat(64)}`

test.each([
  ['python', 'docker.io', 'library/python', 'latest'],
  ['python:3.12', 'docker.io', 'library/python', '3.12'],
  ['team/app:1', 'docker.io', 'team/app', '1'],
  ['docker.io/python', 'docker.io', 'library/python', 'latest'],
  ['index.docker.io/team/app', 'docker.io', 'team/app', 'latest'],
  ['registry-1.docker.io/library/python', 'docker.io', 'library/python', 'latest'],
  ['ghcr.io/a/b/c:x', 'ghcr.io', 'a/b/c', 'x'],
  ['GHCR.io/a', 'ghcr.io', 'a', 'latest'],
  ['registry.test:5000/a:1', 'registry.test:5000', 'a', '1'],
  ['localhost/a', 'localhost', 'a', 'latest'],
  ['[::1]:5000/a', '[::1]:5000', 'a', 'latest'],
  [`python:3.12@${digest}`, 'docker.io', 'library/python', digest],
])('%s is at %s', (text, registry, repository, wanted) => {
  const address = imageAddressOf(text)
  expect(address).toMatchObject({ registry, repository, wanted, digest: wanted === digest ? digest : null })
  const pinned = pinnedName(address, digest)
  expect(imageAddressOf(pinned)).toMatchObject({ registry, repository, wanted: digest })
  expect(pinnedName(imageAddressOf(pinned), digest)).toBe(pinned)
})

test.each(['https://index.docker.io/v1/', 'docker.io', 'registry-1.docker.io', 'https://docker.io/'])(
  '%s is Docker Hub',
  (text) => {
    expect(canonicalRegistry(text)).toBe('docker.io')
  },
)

test('mirrors come first, with their prefix; the registry uses TLS unless it is listed', () => {
  const mirrors = [
    { registry: 'docker.io', url: 'https://mirror.example.com' },
    { registry: 'ghcr.io', url: 'https://other.example.com' },
    { registry: 'index.docker.io', url: 'http://127.0.0.1:5000/a/b' },
  ]
  expect(endpointsOf(imageAddressOf('python'), { mirrors, insecure: [] })).toEqual([
    { origin: 'https://mirror.example.com', repository: 'library/python', isOperators: true, isMirror: true },
    { origin: 'http://127.0.0.1:5000', repository: 'a/b/library/python', isOperators: true, isMirror: true },
    { origin: 'https://registry-1.docker.io', repository: 'library/python', isOperators: false, isMirror: false },
  ])
  const insecure = ['registry.lan:5000', '127.0.0.1:*']
  const own = (text: string) => endpointsOf(imageAddressOf(text), { mirrors: [], insecure })[0]
  expect(own('registry.lan:5000/a')).toMatchObject({ origin: 'http://registry.lan:5000', isOperators: true })
  expect(own('registry.lan:5001/a')).toMatchObject({ origin: 'https://registry.lan:5001', isOperators: false })
  expect(own('127.0.0.1:7/a')).toMatchObject({ origin: 'http://127.0.0.1:7', isOperators: true })
  expect(own('127.0.0.1.evil.test:7/a')).toMatchObject({ isOperators: false })
})

test.each([
  ['registry.lan:80', true],
  ['registry.lan', true],
  ['registry.lan:8', false],
  ['any.lan:8', true],
  ['xany.lan:8', false],
  ['', false],
  ['[::1]:5', true],
])('%s is listed: %s', (authority, expected) => {
  expect(isListed(authority, ['registry.lan:80', 'any.lan:*', '[::1]:5'])).toBe(expected)
})

test('every reference has one server, at the address of its registry', () => {
  const pieces = fc.constantFrom('a', 'b.c', ':', '/', '@', '5000', 'localhost', '[::1]', '..', '?', '#', '%2f', digest)
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
      try {
        const address = imageAddressOf(parts.join(''))
        const [endpoint] = endpointsOf(address, { mirrors: [], insecure: [] })
        const url = new URL(`${endpoint?.origin}/v2/${address.repository}/manifests/${address.wanted}`)
        expect(url.pathname).toBe(`/v2/${address.repository}/manifests/${address.wanted}`)
        expect([url.search, url.hash, url.username]).toEqual(['', '', ''])
      } catch (error) {
        expect(error).toBeInstanceOf(BuilderError)
      }
    }),
    { numRuns: 2000 },
  )
})
