import { describe, expect, it } from 'vitest'
import { requireSignature, signatureOf } from '../../src/envd/files/signature.ts'

const token = '0123456789abcdef0123456789abcdef'
const read = { path: 'dir/a b.txt', operation: 'read', username: 'user', expiry: null } as const
const write = { path: 'dir/a b.txt', operation: 'write', username: '', expiry: '1893456000' } as const

describe('a signature', () => {
  it('is that of the clients', () => {
    expect(signatureOf(read, token)).toBe('v1_lxvJBBHuIDhIuyY0NSXIhOHxUVKvhVKE9mftQUrQ8Ko')
    expect(signatureOf(write, token)).toBe('v1_vJ/40T8YkWkLk7au1JKRpS7V78zVZ3cb0IzH1QaFyTo')
  })

  it('opens its own address until it expires', () => {
    const nowMs = 1893456000_000
    expect(() => requireSignature(signatureOf(read, token), read, { token, nowMs })).not.toThrow()
    expect(() => requireSignature(signatureOf(write, token), write, { token, nowMs })).not.toThrow()
    expect(() => requireSignature(signatureOf(write, token), write, { token, nowMs: nowMs + 1 })).toThrow(
      'signature is already expired',
    )
  })

  it.each([
    ['another path', { path: 'dir/b.txt' }],
    ['a path with another spelling', { path: 'dir//a b.txt' }],
    ['another operation', { operation: 'read' }],
    ['another user', { username: 'root' }],
    ['a later end', { expiry: '1893456001' }],
    ['another spelling of the end', { expiry: '01893456000' }],
    ['an end that is no number', { expiry: '1893456000.5' }],
    ['no end', { expiry: null }],
  ])('does not open %s', (_, change) => {
    const changed = { ...write, ...change } as typeof write
    expect(() => requireSignature(signatureOf(write, token), changed, { token, nowMs: 0 })).toThrow('invalid signature')
  })

  it('does not open the address of which another user is a part', () => {
    const stretched = { path: 'a:read:b', operation: 'write', username: 'c', expiry: null } as const
    const signed = { path: 'a', operation: 'read', username: 'b:write:c', expiry: null } as const
    const signature = signatureOf(signed, token)
    expect(signatureOf(stretched, token)).toBe(signature)
    expect(() => requireSignature(signature, signed, { token, nowMs: 0 })).toThrow('invalid signature')
  })

  it('of another sandbox opens nothing', () => {
    const signature = signatureOf(read, 'f'.repeat(32))
    expect(() => requireSignature(signature, read, { token, nowMs: 0 })).toThrow('invalid signature')
  })

  it('is required', () => {
    expect(() => requireSignature(null, read, { token, nowMs: 0 })).toThrow('missing signature query parameter')
  })
})
