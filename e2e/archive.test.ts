import { execFileSync } from 'node:child_process'
import { Readable } from 'node:stream'
import { createGzip, gzipSync } from 'node:zlib'
import { type ErrorCode, TreeExtracted } from '@holt/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { failure, success } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { describeTrees } from './support/describe-trees.ts'
import { paxRecords, rawEntry, rawTar } from './support/tar.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

type Query = Readonly<Record<string, string | number | boolean>>

const end = Buffer.alloc(1024)

/** The archives to refuse, by name. `secret` lies beside the destination. */
const refused: readonly (readonly [name: string, archive: Buffer, code: ErrorCode])[] = [
  ['..', rawTar({ name: '../secret', content: 'evil' }), 'invalid_archive'],
  ['.. in the middle', rawTar({ name: 'a/../../secret', content: 'evil' }), 'invalid_archive'],
  ['.. by pax', Buffer.concat([paxRecords({ path: '../secret' }), rawTar({ name: 'ok' })]), 'invalid_archive'],
  ['an absolute name', rawTar({ name: '/srv/evil', content: 'evil' }), 'invalid_archive'],
  [
    'a file below a symlink',
    rawTar({ name: 'l', type: '2', link: '..' }, { name: 'l/secret', content: 'evil' }),
    'invalid_archive',
  ],
  [
    'a directory over a symlink, and a file in it',
    rawTar(
      { name: 'l', type: '2', link: '/srv' },
      { name: 'l/', type: '5', mode: 0o755 },
      { name: 'l/evil', content: 'evil' },
    ),
    'invalid_archive',
  ],
  ['a file over a symlink', rawTar({ name: 'l', type: '2', link: '../secret' }, { name: 'l' }), 'invalid_archive'],
  ['a hard link to outside', rawTar({ name: 'h', type: '1', link: '../secret' }), 'invalid_archive'],
  ['an absolute hard link', rawTar({ name: 'h', type: '1', link: '/etc/shadow' }), 'invalid_archive'],
  [
    'a hard link through a symlink',
    rawTar({ name: 'l', type: '2', link: '..' }, { name: 'h', type: '1', link: 'l/secret' }),
    'invalid_archive',
  ],
  ['a character device', rawTar({ name: 'null', type: '3' }), 'invalid_archive'],
  ['a block device', rawTar({ name: 'sda', type: '4' }), 'invalid_archive'],
  ['an entry twice', rawTar({ name: 'f', content: 'a' }, { name: './f', content: 'b' }), 'invalid_archive'],
  [
    'a part that is too long',
    Buffer.concat([paxRecords({ path: 'x'.repeat(256) }), rawTar({ name: 'ok' })]),
    'invalid_archive',
  ],
  [
    'a name that is too long',
    Buffer.concat([paxRecords({ path: 'x/'.repeat(3000) }), rawTar({ name: 'ok' })]),
    'invalid_archive',
  ],
  ['a name with NUL', Buffer.concat([paxRecords({ path: 'a\0b' }), rawTar({ name: 'ok' })]), 'invalid_archive'],
  ['one that is cut in a file', rawTar({ name: 'f', content: 'x'.repeat(2000) }).subarray(0, 1500), 'invalid_archive'],
  ['one that is cut between entries', rawEntry({ name: 'f', content: 'x' }), 'invalid_archive'],
  [
    'one with a wrong checksum',
    Buffer.concat([Buffer.from('y'), rawTar({ name: 'x' }).subarray(1)]),
    'invalid_archive',
  ],
  ['gzip that is cut', gzipSync(rawTar({ name: 'f', content: 'x' })).subarray(0, 40), 'invalid_archive'],
  [
    'a sparse file of a petabyte',
    Buffer.concat([
      paxRecords({ 'GNU.sparse.size': String(2 ** 50), 'GNU.sparse.numblocks': '1', 'GNU.sparse.map': `${2 ** 50},0` }),
      rawEntry({ name: 'f' }),
      end,
    ]),
    'too_large',
  ],
]

describeClasses('archives', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
    await runtime.sh('mkdir -p /srv/in; echo secret > /srv/in/secret')
  })

  const get = (path: string, query: Query = {}) => runtime.call('GET', '/files/archive', { query: { path, ...query } })
  const put = (path: string, body: Uint8Array | Readable, query: Query = {}) =>
    runtime.call('PUT', '/files/archive', { query: { path, ...query }, body })
  const leftovers = () => runtime.sh("find / -xdev -name '.holt-archive-*' -not -path '/proc/*' | head -5")

  it('keep all content and attributes, as tar and as tar.gz', async () => {
    await runtime.sh(`mkdir -p /srv/t/d/e; cd /srv/t
echo content > d/f; ln d/f d/e/hard; chown 12:34 d/f; chmod 4751 d/f; ln -s /etc/passwd out; ln -s nowhere dangling; chown -h 5:6 out
mkfifo -m 620 pipe; : > empty; echo x > "$(printf 'n\\377\\n')"; mkdir -m 3777 sticky; chown 7:8 sticky; truncate -s 40M sparse; echo end >> sparse
python3 -c "import os; os.setxattr('d/f', 'user.bytes', bytes(range(256))); os.setxattr('d', 'user.text', b'value')"
head -c 300000 /dev/urandom > random; touch -d 2001-02-03T04:05:06.789012345Z d/f d/e d .; touch -h -d 2003-04-05T06:07:08Z out`)
    for (const format of ['tar', 'tar.gz']) {
      const archive = await get('/srv/t', { format })
      expect(archive.status).toBe(200)
      const made = success(await put(`/srv/back-${format}`, archive.bytes, { keep_owners: true }), 201, TreeExtracted)
      expect(made).toMatchObject({ path: `/srv/back-${format}`, files: 9, directories: 3, symlinks: 2 })
      const [original, copy] = await describeTrees(runtime, '/srv/t', `/srv/back-${format}`)
      expect(original?.find(({ path }) => path === 'd/f')?.xattrs).toHaveProperty(['user.bytes'])
      expect(copy).toEqual(original)
    }
    // Other programs read it, with what they know of it.
    const { bytes } = await get('/srv/t')
    const listed = execFileSync('tar', ['-tvf', '-', '--numeric-owner'], { input: bytes }).toString()
    expect(listed).toMatch(/-rwsr-x--x 12\/34\s+8 2001-02-03 .* d\/(?:f|e\/hard)\n/)
    expect(listed).toMatch(/hrws.* link to d\/(?:f|e\/hard)\n/)
    const host = execFileSync('tar', ['-C', '/usr/share', '--format=gnu', '-cf', '-', 'doc/bash'], {
      maxBuffer: 2 ** 28,
    })
    expect((await put('/srv/gnu', host)).status).toBe(201)
    expect(await runtime.sh('stat -c %U /srv/gnu/doc')).toBe('user')
  })

  it('create files of the user, or of another user on request', async () => {
    const archive = rawTar({ name: 'd/f', content: 'x', mode: 0o4755 })
    await put('/srv/own', archive)
    await put('/srv/other', archive, { user: '33:44' })
    expect(await runtime.sh("stat -c '%u:%g %a' /srv/own /srv/own/d /srv/own/d/f /srv/other /srv/other/d/f")).toBe(
      '1000:1000 755\n1000:1000 755\n1000:1000 755\n33:44 755\n33:44 755',
    )
  })

  it('replace or merge only on request', async () => {
    const archive = rawTar({ name: 'd/f', content: 'new' }, { name: 'g', content: 'new' })
    await runtime.sh('mkdir -p /srv/at/d; cd /srv/at; echo old > d/f; echo kept > d/kept; chmod 700 d; ln -s d link')
    failure(await put('/srv/at', archive), 'already_exists')
    failure(await put('/srv/at', archive, { merge: true, overwrite: true }), 'invalid_request')
    failure(await put('/srv/at', archive.subarray(0, 600), { merge: true }), 'invalid_archive')
    failure(
      await put('/srv/at', rawTar({ name: 'a' }, { name: 'link/x', content: 'x' }), { merge: true }),
      'not_a_directory',
    )
    failure(await put('/srv/at', rawTar({ name: 'a' }, { name: 'd', content: 'x' }), { merge: true }), 'is_directory')
    expect(await runtime.sh('cd /srv/at; ls -A; cat d/f')).toBe('d\nlink\nold')
    success(await put('/srv/at', archive, { merge: true }), 200, TreeExtracted)
    expect(await runtime.sh('cd /srv/at; cat d/f g d/kept; stat -c %a d; ls -A')).toBe('newnewkept\n700\nd\ng\nlink')
    success(await put('/srv/at', archive, { overwrite: true }), 200, TreeExtracted)
    expect(await runtime.sh('cd /srv/at; ls -A . d')).toBe('.:\nd\ng\n\nd:\nf')
    failure(await put('/', archive, { overwrite: true }), 'invalid_request')
    expect(await leftovers()).toBe('')
  })

  describe('that are hostile or damaged are refused and leave nothing:', () => {
    it.each(refused)('%s', async (_, archive, code) => {
      failure(await put('/srv/in/new', archive), code)
      expect(await runtime.sh('cat /srv/in/secret; ls -A /srv/in; test ! -e /srv/evil; test ! -e /srv/l')).toBe(
        'secret\nsecret',
      )
    })
  })

  it('are limited: a gzip bomb, a million entries, more bytes than allowed', async () => {
    const bomb = Readable.from(
      (function* () {
        yield rawEntry({ name: 'zeros', sizeBytes: 7 * 2 ** 30 }).subarray(0, 512)
        const zeros = Buffer.alloc(2 ** 20)
        for (let written = 0; written < 7 * 1024; written++) yield zeros
      })(),
    ).pipe(createGzip({ level: 1 }))
    failure(await put('/srv/bomb', bomb), 'too_large')
    bomb.destroy()
    const many = Buffer.concat(Array.from({ length: 1001 }, (_, index) => rawEntry({ name: `f${index}` })))
    failure(await put('/srv/many', Buffer.concat([many, end]), { max_entries: 1000 }), 'too_large')
    failure(await put('/srv/bytes', rawTar({ name: 'f', content: 'x'.repeat(2000) }), { max_bytes: 1000 }), 'too_large')
    expect(await runtime.sh('ls -d /srv/bomb /srv/many /srv/bytes 2> /dev/null | wc -l')).toBe('0')
    expect(await leftovers()).toBe('')
  })

  it('that break off leave nothing', async () => {
    const controller = new AbortController()
    const body = Readable.from(
      (async function* () {
        yield rawEntry({ name: 'f', content: 'x'.repeat(100_000), sizeBytes: 10_000_000 })
        await until('it is being unpacked', async () => (await leftovers()) !== '')
        controller.abort()
        await new Promise(() => undefined)
      })(),
    )
    const options = { query: { path: '/srv/half' }, body, signal: controller.signal }
    await expect(runtime.call('PUT', '/files/archive', options)).rejects.toThrow()
    await until('nothing is left', async () => (await leftovers()) === '')
    expect(await runtime.sh('ls -d /srv/half 2> /dev/null | wc -l')).toBe('0')
  })

  it('of paths that cannot be archived are an error with the reason', async () => {
    failure(await get('/srv/none'), 'path_not_found')
    failure(await get('/etc/passwd'), 'not_a_directory')
    failure(await get('relative'), 'invalid_path')
    failure(await get('/srv', { format: 'zip' }), 'invalid_request')
  })
})
