import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { startEnvd } from '../support/start-envd.ts'

/** Writes a form with parts of one name. */
function form(parts: readonly (readonly [filename: string, content: string])[], name = 'file') {
  const body = parts.map(
    ([filename, content]) =>
      `--b\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\n\r\n${content}\r\n`,
  )
  return { headers: { 'content-type': 'multipart/form-data; boundary=b' }, body: `${body.join('')}--b--\r\n` }
}

const octets = { 'content-type': 'application/octet-stream' }

describe('an upload', () => {
  it('writes the files of a form under their whole names, in order', async () => {
    const { ask, inside } = await startEnvd()
    const sent = form([
      ['/d/a', 'one'],
      ['b/%22q%22 \\ %20', 'two'],
      ['c\\\\d', 'three'],
    ])
    const { status, bytes } = await ask('/files', { method: 'POST', ...sent })
    expect([status, JSON.parse(bytes.toString()).map(({ path }: { path: string }) => path)]).toEqual([
      200,
      ['/d/a', 'b/"q" \\ %20', 'c\\d'],
    ])
    expect(inside.contents.get('/d/a')?.toString()).toBe('one')
  })

  it('takes the path of the query before the name of the file', async () => {
    const { ask, inside } = await startEnvd()
    await ask('/files?path=%2Fx%2Fy+z', { method: 'POST', ...form([['undefined', 'one']]) })
    expect([...inside.contents.keys()]).toEqual(['/x/y z'])
  })

  it('writes a body as one file, also one in gzip, with metadata', async () => {
    const { ask, inside } = await startEnvd()
    const headers = { ...octets, 'content-encoding': 'gzip', 'X-Metadata-Author': 'me' }
    const { bytes } = await ask('/files?path=/a', { method: 'POST', headers, body: gzipSync('hello') })
    expect(JSON.parse(bytes.toString())).toEqual([{ name: 'a', type: 'file', path: '/a', metadata: { author: 'me' } }])
    expect(inside.contents.get('/a')?.toString()).toBe('hello')
  })

  it.each([
    ['without a path', '/files', { headers: octets, body: 'x' }],
    ['of another type', '/files?path=/a', { headers: { 'content-type': 'text/plain' }, body: 'x' }],
    [
      'with the same file twice',
      '/files',
      form([
        ['/a', '1'],
        ['//a', '2'],
      ]),
    ],
    ['without a file', '/files', form([['a', '1']], 'other')],
    ['in a broken form', '/files', { ...form([]), body: '--b\r\nContent-Disp' }],
    ['that is no gzip', '/files?path=/a', { headers: { ...octets, 'content-encoding': 'gzip' }, body: 'x' }],
    ['in another coding', '/files?path=/a', { headers: { ...octets, 'content-encoding': 'br' }, body: 'x' }],
    ['with long metadata', '/files?path=/a', { headers: { ...octets, 'x-metadata-a': 'b'.repeat(4096) }, body: 'x' }],
    ['with metadata that is not ASCII', '/files?path=/a', { headers: { ...octets, 'x-metadata-a': 'é' }, body: 'x' }],
  ])('%s is refused', async (_, path, ask) => {
    const envd = await startEnvd()
    const { status, bytes } = await envd.ask(path, { method: 'POST', ...ask })
    expect([status, JSON.parse(bytes.toString()).code]).toEqual([400, 400])
  })

  it('of more than ten thousand parts is refused', async () => {
    const { ask } = await startEnvd()
    const parts = Array.from({ length: 10_001 }, (_, index) => [`f${index}`, ''] as const)
    const { status } = await ask('/files', { method: 'POST', ...form(parts, 'other') })
    expect(status).toBe(429)
  })
})

describe('a download', () => {
  it('has the length of the file, which is 0 for an empty one', async () => {
    const { ask, inside } = await startEnvd()
    inside.contents.set('/a', Buffer.from('hello')).set('/empty', Buffer.alloc(0))
    const { status, headers, bytes } = await ask('/files?path=/a')
    expect([status, headers['content-length'], bytes.toString()]).toEqual([200, '5', 'hello'])
    expect((await ask('/files?path=/empty')).headers['content-length']).toBe('0')
  })

  it('is compressed for a client that asks for gzip alone', async () => {
    const { ask, inside } = await startEnvd()
    inside.contents.set('/a', Buffer.from('hello'))
    const zipped = await ask('/files?path=/a', { headers: { 'accept-encoding': 'gzip' } })
    expect([zipped.headers['content-encoding'], zipped.bytes[0]]).toEqual(['gzip', 0x1f])
    const plain = await ask('/files?path=/a', { headers: { 'accept-encoding': 'gzip, deflate' } })
    expect([plain.headers['content-encoding'], plain.bytes.toString()]).toEqual([undefined, 'hello'])
  })

  it('of a missing file is a 404 in the words of clients', async () => {
    const { ask } = await startEnvd()
    const { status, bytes } = await ask('/files?path=/no')
    expect([status, JSON.parse(bytes.toString())]).toEqual([404, { code: 404, message: "path '/no' does not exist" }])
  })
})

describe('the other paths', () => {
  it('answer health, variables and metrics', async () => {
    const { ask } = await startEnvd()
    expect((await ask('/health')).status).toBe(204)
    expect(JSON.parse((await ask('/envs')).bytes.toString())).toEqual({ A: 'b' })
    expect(JSON.parse((await ask('/metrics')).bytes.toString())).toMatchObject({ ts: 5, cpu_count: 2, mem_total: 10 })
  })
})
