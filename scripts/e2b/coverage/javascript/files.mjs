// Files and watches.
import assert from 'node:assert/strict'
import { check, finish, recordInstance, sdk, until } from './recorder.mjs'

const { Sandbox, FileNotFoundError, FileType } = sdk
const sandbox = await Sandbox.create({ timeoutMs: 900_000 })
const { files, commands } = sandbox
recordInstance('Filesystem', files)
const home = '/home/user'

await check(
  'a file is read as it was written, in each form',
  { works: ['Filesystem#write', 'Filesystem#read'] },
  async () => {
    const path = 'dir/a b.txt'
    const forms = () => [
      'text é',
      new TextEncoder().encode('text é').buffer,
      new Blob(['text é']),
      new Response('text é').body,
    ]
    for (const useOctetStream of [false, true])
      for (const data of forms()) {
        const info = await files.write(path, data, { useOctetStream })
        assert.deepEqual([info.name, info.path], ['a b.txt', `${home}/${path}`])
        assert.equal(await files.read(path), 'text é')
      }
    await files.write(path, 'packed '.repeat(1000), { gzip: true, useOctetStream: true })
    assert.equal(await files.read(path, { gzip: true }), 'packed '.repeat(1000))
    assert.equal((await files.read(path, { format: 'bytes' })).length, 7000)
    assert.equal((await files.read(path, { format: 'blob' })).size, 7000)
    assert.equal(await new Response(await files.read(path, { format: 'stream' })).text(), 'packed '.repeat(1000))
    await files.write('empty', '')
    assert.equal(await files.read('empty'), '')
    await files.write('/root/of-root', 'x', { user: 'root' })
    assert.equal((await commands.run('stat -c %U /root/of-root', { user: 'root' })).stdout, 'root\n')
    assert.equal(await files.read('of-root', { user: 'root' }), 'x')
    await assert.rejects(files.read('missing'), FileNotFoundError)
  },
)

await check('many files are written at once', { works: ['Filesystem#writeFiles', 'Filesystem#write'] }, async () => {
  const list = [
    { path: 'm/1', data: 'one' },
    { path: `${home}/m/"2"\\ é`, data: 'two' },
  ]
  assert.deepEqual(
    (await files.writeFiles(list)).map(({ path }) => path),
    [`${home}/m/1`, list[1].path],
  )
  assert.equal(await files.read(list[1].path), 'two')
  assert.equal((await files.write(list)).length, 2)
})

await check(
  'metadata of a file is kept with it',
  { works: ['Filesystem#write', 'Filesystem#getInfo', 'Filesystem#rename'] },
  async () => {
    const metadata = { author: 'me', 'a-b': 'c d' }
    assert.deepEqual((await files.write('described', 'x', { metadata })).metadata, metadata)
    await files.rename('described', 'described2')
    assert.deepEqual((await files.getInfo('described2')).metadata, metadata)
  },
)

await check(
  'a directory lists its entries',
  { works: ['Filesystem#list', 'Filesystem#getInfo', 'Filesystem#exists'] },
  async () => {
    await commands.run('mkdir -p l/sub; echo 12345 >l/f; chmod 640 l/f; echo x >l/sub/g; ln -s /etc/hostname l/s')
    const names = async (options) => (await files.list('l', options)).map(({ name, type }) => `${name} ${type}`).sort()
    assert.deepEqual(await names(), ['f file', 's file', 'sub dir'])
    assert.deepEqual(await names({ depth: 2 }), ['f file', 'g file', 's file', 'sub dir'])
    const info = await files.getInfo('l/f')
    assert.deepEqual(
      [info.size, info.mode, info.permissions, info.owner, info.group, info.type],
      [6, 0o640, '-rw-r-----', 'user', 'user', FileType.FILE],
    )
    assert.ok(info.modifiedTime instanceof Date)
    assert.equal((await files.getInfo('l/s')).symlinkTarget, '/etc/hostname')
    assert.deepEqual([await files.exists('l/f'), await files.exists('l/none')], [true, false])
    await assert.rejects(files.list('none'), FileNotFoundError)
  },
)

await check(
  'entries are made, moved and removed',
  { works: ['Filesystem#makeDir', 'Filesystem#rename', 'Filesystem#remove', 'Filesystem#exists'] },
  async () => {
    assert.deepEqual([await files.makeDir('made/deep'), await files.makeDir('made/deep')], [true, false])
    await files.write('made/f', 'x')
    await files.write('made/g', 'old')
    assert.equal((await files.rename('made/f', 'made/g')).path, `${home}/made/g`)
    assert.equal(await files.read('made/g'), 'x')
    await files.remove('made')
    await files.remove('made')
    assert.equal(await files.exists('made'), false)
  },
)

await check(
  'a watch reports changes with their entries until it stops',
  { works: ['Filesystem#watchDir', 'WatchHandle#stop'] },
  async () => {
    await files.makeDir('watched')
    const seen = []
    const sizes = new Map()
    const ends = []
    const note = ({ type, name, entry }) => {
      seen.push(`${type} ${name}`)
      if (entry !== undefined) sizes.set(name, entry.size)
    }
    const handle = await files.watchDir('watched', note, {
      recursive: true,
      includeEntry: true,
      onExit: () => void ends.push('end'),
    })
    recordInstance('WatchHandle', handle)
    await files.makeDir('watched/new')
    await until(async () => seen.includes('create new'))
    await files.write('watched/new/f', 'xyz')
    await until(async () => seen.includes('write new/f'))
    await files.rename('watched/new/f', 'watched/g')
    await commands.run('chmod 600 watched/g')
    await files.remove('watched/g')
    await until(async () => seen.includes('remove g'))
    for (const event of [
      'create new',
      'create new/f',
      'write new/f',
      'rename new/f',
      'create g',
      'chmod g',
      'remove g',
    ])
      assert.ok(seen.includes(event), `${event} is missing in ${seen.join(', ')}`)
    assert.equal(sizes.get('g'), 3)
    await handle.stop()
    await until(async () => ends.length > 0)
    const count = seen.length
    await files.write('watched/after', 'x')
    await new Promise((resolve) => setTimeout(resolve, 500))
    assert.equal(seen.length, count)
    await assert.rejects(
      files.watchDir('missing', () => {}),
      FileNotFoundError,
    )
  },
)

await sandbox.kill()
await finish()
