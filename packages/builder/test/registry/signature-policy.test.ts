import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { imageAddressOf } from '../../src/registry/image-address.ts'
import { requireAccepted } from '../../src/registry/signature-policy.ts'

/** Writes a policy and asks it about an image. */
async function ask(policy: string | null, reference: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'holt-policy-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const file = join(dir, 'policy.json')
  if (policy !== null) await writeFile(file, policy)
  await requireAccepted(imageAddressOf(reference), file)
}

const accept = [{ type: 'insecureAcceptAnything' }]
const reject = [{ type: 'reject' }]
const signed = [{ type: 'signedBy', keyType: 'GPGKeys', keyPath: '/key' }]
const text = (normal: unknown, docker?: unknown) =>
  JSON.stringify({ default: normal, ...(docker === undefined ? {} : { transports: { docker } }) })

test.each<[string, string | null, string]>([
  ['no policy', null, 'python'],
  ['a default that accepts', text(accept), 'python'],
  ['a registry that is accepted', text(reject, { 'docker.io': accept }), 'python:3.12'],
  ['a namespace that is accepted', text(reject, { 'ghcr.io/team': accept }), 'ghcr.io/team/app'],
  [
    'a repository within a rejected namespace',
    text(reject, { 'a.test/b': reject, 'a.test/b/c': accept }),
    'a.test/b/c',
  ],
  ['a tag that is accepted', text(reject, { 'a.test/b:1': accept }), 'a.test/b:1'],
  ['a domain that is accepted', text(reject, { '*.example.com': accept }), 'eu.example.com:5000/b'],
  ['all registries', text(reject, { '': accept }), 'a.test/b'],
])('an image is accepted by %s', async (_what, policy, reference) => {
  await expect(ask(policy, reference)).resolves.toBeUndefined()
})

test.each<[string, string, string]>([
  ['a default that rejects', text(reject), 'python'],
  ['a signature that is required', text(accept, { 'docker.io/library': signed }), 'python'],
  ['one of two requirements', text([...accept, ...signed]), 'python'],
  ['a rejected registry with a port', text(accept, { 'a.test:5000': reject }), 'a.test:5000/b'],
  ['another tag', text(reject, { 'a.test/b:1': accept }), 'a.test/b:2'],
  ['a name that only begins alike', text(reject, { 'a.test/b': accept }), 'a.test/bc'],
  ['a parent domain', text(reject, { '*.example.com': accept }), 'example.com/b'],
  ['no requirement', text([]), 'python'],
  ['a text that is no JSON', '{', 'python'],
  ['a text that is no policy', '[]', 'python'],
])('an image is refused for %s', async (_what, policy, reference) => {
  await expect(ask(policy, reference)).rejects.toMatchObject({
    code: 'image_pull_failed',
    message: expect.stringContaining('signature policy'),
  })
})
