import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { FileInfo, FileTransferred, pageOf } from '@holt/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { anyFailure, failure, pointersOf, success, wireRequest } from './support/api.ts'
import { describeClasses } from './support/classes.ts'
import { service } from './support/facts.ts'
import { open } from './support/http.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

const MiB = 2 ** 20

describeClasses('files', (isolation) => {
  let runtime: TestRuntime
  beforeAll(async () => {
    runtime = await createRuntime({ isolation })
  })

  const put = (
    path: string,
    body: string | Uint8Array | Readable,
    query: object = {},
    headers: Record<string, string> = {},
  ) => runtime.call('PUT', '/files/content', { query: { path, ...query }, body, headers })
  const get = (path: string, headers: Record<string, string> = {}) =>
    runtime.call('GET', '/files/content', { query: { path }, headers })
  const stat = async (path: string) =>
    success(await runtime.call('GET', '/files/stat', { query: { path } }), 200, FileInfo)
  const post = (route: string, json: unknown) => runtime.call('POST', `/files/${route}`, { json })

  describe('content', () => {
    it('arrives unchanged, in a file of the user, whose parents are created', async () => {
      const body = randomBytes(300_000)
      const info = success(await put('/workspace/new/deep/file.bin', body), 201, FileInfo)
      expect(info).toMatchObject({
        path: '/workspace/new/deep/file.bin',
        name: 'file.bin',
        type: 'file',
        size_bytes: 300_000,
        mode: '0644',
        user: 'user',
        permissions: 'rw-r--r--',
      })
      expect(
        await runtime.sh(
          'sha256sum < /workspace/new/deep/file.bin; stat -c "%U %a" /workspace/new /workspace/new/deep',
        ),
      ).toBe(`${createHash('sha256').update(body).digest('hex')}  -\nuser 755\nuser 755`)
      expect((await get('/workspace/new/deep/file.bin')).bytes.equals(body)).toBe(true)
      expect(await stat('/workspace/new/deep/file.bin')).toEqual(info)
    })

    it('may be empty', async () => {
      success(await put('/srv/empty', ''), 201, FileInfo)
      const answer = await get('/srv/empty')
      expect([answer.status, answer.bytes.length]).toEqual([200, 0])
    })

    it('gets the requested mode and owner, and keeps existing ones', async () => {
      expect(success(await put('/srv/owned', 'x', { mode: '0600', user: '1234:4321' }), 201, FileInfo)).toMatchObject({
        mode: '0600',
        uid: 1234,
        gid: 4321,
      })
      expect(success(await put('/srv/owned', 'yy'), 200, FileInfo)).toMatchObject({
        mode: '0600',
        uid: 1234,
        gid: 4321,
        size_bytes: 2,
      })
    })

    it('replaces only if allowed', async () => {
      success(await put('/srv/once', 'first', {}, { 'if-none-match': '*' }), 201, FileInfo)
      failure(await put('/srv/once', 'second', {}, { 'if-none-match': '*' }), 'already_exists')
      expect((await get('/srv/once')).text).toBe('first')
      success(await put('/srv/once', 'third'), 200, FileInfo)
    })

    it('replaces only the version that If-Match names', async () => {
      const written = success(await put('/srv/known', 'one'), 201, FileInfo)
      const known = { 'if-match': written.etag ?? '' }
      expect((await get('/srv/known')).headers.etag).toBe(written.etag)
      expect((await stat('/srv/known')).etag).toBe(written.etag)
      // A change of the mode is no change of the content.
      await runtime.sh('chmod 600 /srv/known')
      const second = success(await put('/srv/known', 'two', {}, known), 200, FileInfo)
      failure(await put('/srv/known', 'three', {}, known), 'precondition_failed')
      await runtime.sh('echo 2 > /srv/known')
      failure(await put('/srv/known', 'three', {}, { 'if-match': second.etag ?? '' }), 'precondition_failed')
      expect((await get('/srv/known')).text).toBe('2\n')
      failure(await put('/srv/unknown', 'x', {}, { 'if-match': '*' }), 'precondition_failed')
      success(await put('/srv/known', 'three', {}, { 'if-match': '*' }), 200, FileInfo)
    })

    it('follows a symlink to its target', async () => {
      await runtime.sh('echo old > /srv/target; ln -sf target /srv/link')
      success(await put('/srv/link', 'new'), 200, FileInfo)
      expect(await runtime.sh('readlink /srv/link; cat /srv/target')).toBe('target\nnew')
      expect((await get('/srv/link')).text).toBe('new')
    })

    it.each([
      ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
      ['bytes=7-', 206, '789', 'bytes 7-9/10'],
      ['bytes=-2', 206, '89', 'bytes 8-9/10'],
      ['bytes=5-999', 206, '56789', 'bytes 5-9/10'],
      ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ])('of %s is that part', async (range, status, text, contentRange) => {
      await put('/srv/digits', '0123456789')
      const answer = await get('/srv/digits', { range })
      expect([answer.status, answer.text, answer.headers['content-range']]).toEqual([status, text, contentRange])
    })

    it('outside the file is refused', async () => {
      await put('/srv/digits', '0123456789')
      failure(await get('/srv/digits', { range: 'bytes=10-' }), 'range_not_satisfiable')
    })

    it('of an aborted upload leaves only the old file', async () => {
      await put('/srv/broken/file', 'old')
      // An upload is written in a directory of Holt's, and moved beside the old file once it is
      // whole.
      const unfinished = () => runtime.sh('ls -A /run/.holt-stage /srv/broken')
      const before = await unfinished()
      const abort = new AbortController()
      const half = new Readable({ read() {} })
      half.push(randomBytes(MiB))
      const sending = open(
        service.url,
        wireRequest('PUT', `${runtime.path}/files/content?path=/srv/broken/file`, { body: half, signal: abort.signal }),
      )
      const outcome = sending.then(
        () => 'answered',
        () => 'broken off',
      )
      await until('it has begun', async () => (await unfinished()) !== before)
      abort.abort()
      expect(await outcome).toBe('broken off')
      await until('it is undone', async () => (await unfinished()) === before)
      expect(await runtime.sh('ls -A /srv/broken')).toBe('file')
      expect((await get('/srv/broken/file')).text).toBe('old')
    })

    it.each([
      ['a missing file', ':', 'path_not_found'],
      ['a directory', 'mkdir $P', 'is_directory'],
      ['a FIFO', 'mkfifo $P', 'not_a_file'],
      ['a socket', 'python -c "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])" $P', 'not_a_file'],
      ['a link to a device', 'ln -s /dev/zero $P', 'not_a_file'],
      ['a link to a FIFO', 'mkfifo /srv/fifo; ln -s fifo $P', 'not_a_file'],
      ['a loop of links', 'ln -s odd $P', 'symlink_loop'],
      ['a path below a file', 'echo x > /srv/plain; ln -s plain/below $P', 'not_a_directory'],
    ] as const)('of %s is refused at once, while another runtime is served', async (_, make, code) => {
      await runtime.sh(`rm -rf /srv/odd /srv/fifo; P=/srv/odd; ${make}`)
      const answer = await runtime.call('GET', '/files/content', { query: { path: '/srv/odd' }, timeoutMs: 10_000 })
      failure(answer, code)
    })

    it('cannot be written over a path that is not a file', async () => {
      await runtime.sh('rm -rf /srv/odd; mkfifo /srv/odd; mkdir -p /srv/dir')
      failure(await put('/srv/odd', 'x'), 'not_a_file')
      failure(await put('/srv/dir', 'x'), 'is_directory')
      failure(await put('/srv/digits/below', 'x'), 'not_a_directory')
      anyFailure(await put('/proc/version', 'x'))
    })
  })

  it('64 reads of FIFOs at once delay nothing', async () => {
    await runtime.sh('rm -rf /srv/fifos; mkdir /srv/fifos; cd /srv/fifos; for n in $(seq 64); do mkfifo $n; done')
    await using other = await createRuntime({ isolation })
    await other.call('PUT', '/files/content', { query: { path: '/srv/file' }, body: 'served' })
    // Nothing ever writes to them: a read that waits would wait for ever, and with it whatever
    // waits its turn behind it.
    const asked = Array.from({ length: 64 }, (_, n) => get(`/srv/fifos/${n + 1}`))
    const served = await other.call('GET', '/files/content', { query: { path: '/srv/file' } })
    expect([served.status, served.text]).toEqual([200, 'served'])
    for (const answer of await Promise.all(asked)) failure(answer, 'not_a_file')
  })

  describe('stat and list', () => {
    it('describe paths, links and special files as themselves', async () => {
      await runtime.sh(`rm -rf /srv/kinds; mkdir /srv/kinds; cd /srv/kinds; echo text > file; chmod 4750 file; ln -s nowhere link; mkfifo fifo; mkdir -p dir/sub; echo x > dir/sub/deep
touch -d 2001-02-03T04:05:06.789Z file; touch "$(printf 'odd\\377')"; python -c "import socket; socket.socket(socket.AF_UNIX).bind('sock')"`)
      expect(await stat('/srv/kinds/file')).toMatchObject({
        mode: '4750',
        permissions: 'rwsr-x---',
        modified_at: '2001-02-03T04:05:06.789Z',
        size_bytes: 5,
        uid: 0,
      })
      expect(await stat('/srv/kinds/link')).toMatchObject({ type: 'symlink', symlink_target: 'nowhere' })
      expect(await stat('/dev/null')).toMatchObject({ type: 'device' })
      const { data } = success(
        await runtime.call('GET', '/files/list', { query: { path: '/srv/kinds' } }),
        200,
        pageOf(FileInfo),
      )
      expect(data.map(({ name, type }) => [name, type])).toEqual([
        ['dir', 'directory'],
        ['fifo', 'fifo'],
        ['file', 'file'],
        ['link', 'symlink'],
        ['odd\ufffd', 'file'],
        ['sock', 'socket'],
      ])
      expect(data.find(({ name }) => name === 'odd\ufffd')?.path_base64).toBe(
        Buffer.from('/srv/kinds/odd\xff', 'latin1').toString('base64'),
      )
    })

    it('go to the requested depth, through every page', async () => {
      await runtime.sh(
        'rm -rf /srv/deep; mkdir -p /srv/deep; cd /srv/deep; for d in a b c; do mkdir -p $d/x/y; touch $d/1 $d/x/2 $d/x/y/3; done',
      )
      const expected = (await runtime.sh('cd /srv/deep; find . -mindepth 1 -maxdepth 3 | cut -c 2-'))
        .split('\n')
        .map((path) => `/srv/deep${path}`)
      const Page = pageOf(FileInfo)
      const shallow = success(await runtime.call('GET', '/files/list', { query: { path: '/srv/deep' } }), 200, Page)
      expect(shallow.data.map(({ name }) => name)).toEqual(['a', 'b', 'c'])
      const seen: string[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const query: Record<string, string | number> = { path: '/srv/deep', depth: 3, limit: 4 }
        if (cursor !== undefined) query.cursor = cursor
        const page = Page.parse(JSON.parse((await runtime.call('GET', '/files/list', { query })).text))
        expect(page.data.length).toBeLessThanOrEqual(4)
        seen.push(...page.data.map((entry) => entry.path))
        cursor = page.next_cursor
      }
      expect(seen.toSorted()).toEqual(expected.toSorted())
    })

    it('refuse a missing path and a path that is not a directory', async () => {
      failure(await runtime.call('GET', '/files/stat', { query: { path: '/no/such' } }), 'path_not_found')
      failure(await runtime.call('GET', '/files/list', { query: { path: '/no/such' } }), 'path_not_found')
      failure(await runtime.call('GET', '/files/list', { query: { path: '/etc/passwd' } }), 'not_a_directory')
      const error = failure(
        await runtime.call('GET', '/files/list', { query: { path: 'relative', depth: 0, limit: 0, nonsense: 1 } }),
        'invalid_request',
      )
      expect(pointersOf(error)).toEqual(['/query/depth', '/query/limit', '/query/nonsense', '/query/path'])
      failure(await runtime.call('GET', '/files/stat'), 'invalid_request')
    })
  })

  describe('mkdir, move and remove', () => {
    it('mkdir makes parents, and says if the directory existed', async () => {
      expect(success(await post('mkdir', { path: '/workspace/m/a/b', mode: '0700' }), 201, FileInfo)).toMatchObject({
        type: 'directory',
        mode: '0700',
        user: 'user',
      })
      success(await post('mkdir', { path: '/workspace/m/a/b' }), 200, FileInfo)
      failure(await post('mkdir', { path: '/workspace/m/a/b', parents: false }), 'already_exists')
      failure(await post('mkdir', { path: '/workspace/no/parent', parents: false }), 'path_not_found')
      await put('/workspace/m/file', 'x')
      failure(await post('mkdir', { path: '/workspace/m/file' }), 'already_exists')
    })

    it('move takes a file or a tree, and overwrites only on request', async () => {
      await runtime.sh('rm -rf /srv/mv; mkdir -p /srv/mv/tree/sub; echo x > /srv/mv/tree/sub/f; echo old > /srv/mv/old')
      const moved = success(
        await post('move', { source: '/srv/mv/tree', destination: '/srv/mv/new/place' }),
        200,
        FileTransferred,
      )
      expect(moved.entry).toMatchObject({ path: '/srv/mv/new/place', type: 'directory' })
      failure(await post('move', { source: '/srv/mv/new/place', destination: '/srv/mv/old' }), 'already_exists')
      success(
        await post('move', { source: '/srv/mv/new/place', destination: '/srv/mv/old', overwrite: true }),
        200,
        FileTransferred,
      )
      expect(await runtime.sh('cd /srv/mv; find . -mindepth 1 | sort; cat old/sub/f')).toBe(
        './new\n./old\n./old/sub\n./old/sub/f\nx',
      )
      failure(await post('move', { source: '/srv/mv/old', destination: '/srv/mv/old/sub/x' }), 'invalid_request')
      failure(await post('move', { source: '/srv/mv/none', destination: '/srv/mv/x' }), 'path_not_found')
    })

    it('move takes a directory of the image', async () => {
      success(await post('move', { source: '/etc/skel', destination: '/srv/skel' }), 200, FileTransferred)
      expect(await runtime.sh('test ! -e /etc/skel; ls -A /srv/skel')).not.toBe('')
    })

    it('remove deletes its path, and never the target of a link', async () => {
      await runtime.sh(
        'rm -rf /srv/rm; mkdir -p /srv/rm/keep /srv/rm/tree/sub; touch /srv/rm/keep/f; ln -s ../keep /srv/rm/tree/link; ln -s keep /srv/rm/direct',
      )
      failure(await post('remove', { path: '/srv/rm/tree' }), 'directory_not_empty')
      for (const path of ['/srv/rm/tree', '/srv/rm/direct'])
        expect((await post('remove', { path, recursive: true })).status).toBe(200)
      expect(await runtime.sh('cd /srv/rm; find . | sort')).toBe('.\n./keep\n./keep/f')
      failure(await post('remove', { path: '/srv/rm/tree' }), 'path_not_found')
      failure(await post('remove', { path: '/', recursive: true }), 'invalid_request')
      expect((await runtime.run('true')).exit_code).toBe(0)
    })
  })
})
