// The calls that this service does not have. Each says so, and none answers success.
import assert from 'node:assert/strict'
import { check, finish, recordInstance, sdk } from './recorder.mjs'

const { Volume, Secret, Sandbox, VolumeError, SecretError } = sdk
recordInstance('SecretPaginator', Secret.list())
const noVolumes = 'volumes are not part of this service (501)'
const noSecrets = 'secrets are not part of this service (501)'
const absent = (reason, methods) => Object.fromEntries(methods.map((method) => [method, reason]))
const refused = (promise) => assert.rejects(promise, /501|not part of this service/)

await check(
  'volumes are refused',
  { absent: absent(noVolumes, ['Volume.create', 'Volume.connect', 'Volume.getInfo', 'Volume.list', 'Volume.destroy']) },
  async () => {
    await refused(Volume.create('v'))
    await refused(Volume.connect('v'))
    await refused(Volume.getInfo('v'))
    await refused(Volume.list())
    await refused(Volume.destroy('v'))
    await assert.rejects(Volume.create('v'), VolumeError)
  },
)

await check(
  'contents of volumes are refused',
  {
    absent: absent(noVolumes, [
      'Volume#list',
      'Volume#makeDir',
      'Volume#getInfo',
      'Volume#exists',
      'Volume#updateMetadata',
      'Volume#readFile',
      'Volume#writeFile',
      'Volume#remove',
    ]),
  },
  async () => {
    const volume = new Volume('v', 'v', 'token', process.env.E2B_DOMAIN)
    for (const call of [
      () => volume.list('/'),
      () => volume.makeDir('/d'),
      () => volume.getInfo('/f'),
      () => volume.exists('/f'),
      () => volume.updateMetadata('/f', { mode: 0o600 }),
      () => volume.readFile('/f'),
      () => volume.writeFile('/f', 'x'),
      () => volume.remove('/f'),
    ])
      await refused(call())
  },
)

await check(
  'secrets are refused',
  {
    absent: absent(noSecrets, [
      'Secret.create',
      'Secret.update',
      'Secret.getInfo',
      'Secret.list',
      'Secret.exists',
      'Secret.destroy',
      'SecretPaginator#nextItems',
    ]),
  },
  async () => {
    await refused(Secret.create('S', 'x'))
    await refused(Secret.update('S', 'x'))
    await refused(Secret.getInfo('S'))
    await refused(Secret.list().nextItems())
    await refused(Secret.exists('S'))
    await refused(Secret.destroy('S'))
    await assert.rejects(Secret.create('S', 'x'), SecretError)
  },
)

await check(
  'a secret in a header is refused, and so is an identity',
  {
    absent: {
      'Secret.fill': 'a create or update of the network with `rules` is refused (400)',
      'Secret.iamToken': 'a create with `iam` is refused (400)',
    },
  },
  async () => {
    const headers = { Authorization: `Bearer ${Secret.fill('S')}` }
    await assert.rejects(
      Sandbox.create({ network: { rules: { 'example.com': [{ transform: { headers } }] } } }),
      /400: /,
    )
    const aws = Secret.iamToken({ audience: 'sts.example.com', tokenType: 'JWT-SVID' })
    await assert.rejects(Sandbox.create({ iam: { tokens: { aws } } }), /400: /)
  },
)

await finish()
