import type { GuestClient, HomeClient } from '@holt/guest-client'
import { expect } from 'vitest'
import { bound, collect, process, type Steps } from './steps.ts'

const account = 'ada'
const home = '/tmp/ada'

/** The conformance tests of files and processes by the paths of an account. */
export const homeTests = {
  'names files by the home of an account': async (steps) => {
    const { files, signal } = await prepare(steps)
    const body = Buffer.from('one')
    const made = await files.write({ account, path: 'd/./f', attributes: null, body }, signal())
    expect(made).toMatchObject({ created: true, entry: { path: `${home}/d/f`, type: 'file' } })
    expect((await files.stat({ account, path: '~/d' }, signal())).path).toBe(`${home}/d`)
    expect((await files.stat({ account, path: '' }, signal())).path).toBe(home)
    const moved = await files.rename({ account, source: 'd/f', destination: `${home}//e/g` }, signal())
    expect(moved.path).toBe(`${home}/e/g`)
    const content = await files.read({ account, path: 'e/g' }, signal())
    expect(Buffer.concat(await content.body.toArray()).toString()).toBe('one')
    await files.remove({ account, path: 'e' }, signal())
    await files.remove({ account, path: 'e' }, signal())
    const missing = files.stat({ account, path: 'e' }, signal())
    await expect(missing).rejects.toMatchObject({ code: 'path_not_found', details: { path: `${home}/e` } })
    const unknown = files.stat({ account: 'eve', path: '' }, signal())
    await expect(unknown).rejects.toMatchObject({ details: { reason: 'no_such_account' } })
  },
  'tells a directory that is there from a file': async (steps) => {
    const { files, signal } = await prepare(steps)
    await files.write({ account, path: 'f', attributes: null, body: Buffer.alloc(0) }, signal())
    expect((await files.makeDirectory({ account, path: 'a/b' }, signal())).created).toBe(true)
    expect((await files.makeDirectory({ account, path: 'a/b/' }, signal())).created).toBe(false)
    const taken = files.makeDirectory({ account, path: 'f' }, signal())
    await expect(taken).rejects.toMatchObject({ code: 'already_exists' })
    const rename = (source: string, destination: string) => files.rename({ account, source, destination }, signal())
    await expect(rename('f', 'a')).rejects.toMatchObject({ code: 'is_directory' })
    await expect(rename('a', 'f')).rejects.toMatchObject({ code: 'not_a_directory' })
    await files.makeDirectory({ account, path: 'empty' }, signal())
    await expect(rename('empty', 'a')).rejects.toMatchObject({ code: 'directory_not_empty' })
    expect((await rename('a', 'empty')).path).toBe(`${home}/empty`)
  },
  'writes to a file itself, through a symlink, with its attributes': async (steps) => {
    const { guest, files, signal } = await prepare(steps)
    const write = (path: string, text: string, attributes: Record<string, string> | null) =>
      files.write({ account, path, attributes, body: Buffer.from(text) }, signal())
    await write('f', 'a long text', { one: '1', two: '2' })
    await guest.files.makeSymlink({ path: `${home}/l`, target: 'f', overwrite: false }, signal())
    const { entry } = await write('l', 'short', { two: 'zwei' })
    expect(entry).toMatchObject({ path: `${home}/l`, type: 'file', size_bytes: 5 })
    const link = await files.stat({ account, path: 'l' }, signal())
    expect(link).toMatchObject({ type: 'symlink', target_type: 'file', resolved_target: `${home}/f` })
    expect(entry.attributes).toEqual({ two: 'zwei' })
    expect((await write('f', 'shorter', null)).entry.attributes).toEqual({ two: 'zwei' })
    await files.rename({ account, source: 'f', destination: 'g' }, signal())
    const listed = await files.list({ path: home, depth: 1, limit: 10, after: null }, signal())
    expect(listed.entries.map(({ name, attributes = {}, target_type }) => [name, attributes, target_type])).toEqual([
      ['g', { two: 'zwei' }, undefined],
      ['l', {}, undefined],
    ])
    expect((await write('g', '', {})).entry.attributes).toBeUndefined()
  },
  'begins commands at the home of an account, and finds them by PID and label': async (steps) => {
    const { guest, files, signal } = await prepare(steps)
    await files.makeDirectory({ account, path: 'd' }, signal())
    const started = { ...process(['cat']), stdin: 'pipe', home_of: account, cwd: '~/d', label: 'a label' } as const
    const { pid, cwd } = await guest.processes.start(started, signal())
    expect(cwd).toBe(`${home}/d`)
    await collect(await guest.processes.run({ ...process(['true']), label: 'a label' }, signal()))
    expect(await guest.processes.find({ label: 'a label' }, signal())).toMatchObject({ id: started.id, pid })
    expect((await guest.processes.find({ pid }, signal()))?.id).toBe(started.id)
    expect(await guest.processes.find({ label: 'none' }, signal())).toBeNull()
    const missing = guest.processes.start({ ...process(['true']), home_of: account, cwd: 'none' }, signal())
    await expect(missing).rejects.toMatchObject({ details: { reason: 'no_such_directory', path: `${home}/none` } })
  },
} satisfies Record<string, (steps: Steps) => Promise<void>>

/** Makes a runtime with an account. */
async function prepare({
  engine,
  spec,
  signal,
}: Steps): Promise<{ guest: GuestClient; files: HomeClient; signal: Steps['signal'] }> {
  const guest = await bound(engine, spec(), signal)
  const body = Buffer.from(`root:x:0:0::/root:/bin/sh\n${account}:x:4321:4321::${home}:/bin/sh\n`)
  await guest.content.write({ path: '/etc/passwd', createOnly: false, body }, signal())
  await guest.files.makeDirectory({ path: home, parents: true, mode: null, user: account }, signal())
  return { guest, files: guest.homes({ attributePrefix: 'user.test.' }), signal }
}
