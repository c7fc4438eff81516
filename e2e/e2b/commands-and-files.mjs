// Uses the published client for JavaScript against a sandbox that runs. It is given its package as
// an argument, and the id of the sandbox.
import assert from 'node:assert/strict'
import { pathToFileURL } from 'node:url'

const [, , packageFile, sandboxId] = process.argv
const { Sandbox, CommandExitError, FileNotFoundError, NotFoundError, TimeoutError, FileType } = await import(
  pathToFileURL(packageFile).href
)
const sandbox = await Sandbox.connect(sandboxId)
const { commands, files, pty } = sandbox
const home = '/home/user'

const checks = {
  async 'a command has output, an exit code and the home as its directory'() {
    const result = await commands.run('echo out; echo err >&2; pwd; id -un')
    assert.equal(result.stdout, `out\n${home}\nuser\n`)
    assert.equal(result.stderr, 'err\n')
    assert.equal(result.exitCode, 0)
  },
  async 'a command that fails raises with its exit code'() {
    const error = await commands.run('exit 3').catch((error) => error)
    assert.ok(error instanceof CommandExitError)
    assert.equal(error.exitCode, 3)
    assert.equal(error.error, 'exit status 3')
  },
  async 'a command has its own directory, user and variables'() {
    const result = await commands.run('pwd; id -un; echo $A $HOME', { cwd: '/tmp', user: 'root', envs: { A: 'b c' } })
    assert.equal(result.stdout, '/tmp\nroot\nb c /root\n')
    const relative = await commands.run('mkdir -p ~/below && true').then(() => commands.run('pwd', { cwd: 'below' }))
    assert.equal(relative.stdout, `${home}/below\n`)
  },
  async 'a missing directory and a missing user are named'() {
    await assert.rejects(commands.run('true', { cwd: '/nope' }), /cwd '\/nope' does not exist/)
    await assert.rejects(commands.run('true', { user: 'nobody-here' }), /invalid username: 'nobody-here'/)
  },
  async 'a command that takes too long raises and is killed'() {
    await assert.rejects(commands.run('sleep 61.5', { timeoutMs: 700 }), TimeoutError)
    // The client gives up at the same moment. The process ends soon after.
    for (let tries = 0; tries < 50; tries += 1)
      if (!(await commands.list()).some(({ args }) => args.includes('sleep 61.5'))) return
    assert.fail('the process runs')
  },
  async 'a command in the background has a PID, and can be connected to and killed'() {
    const begun = await commands.run('echo first; sleep 300', { background: true })
    assert.ok((await commands.list()).some(({ pid }) => pid === begun.pid))
    const seen = []
    const again = await commands.connect(begun.pid, { onStdout: (text) => seen.push(text) })
    assert.equal(again.pid, begun.pid)
    assert.equal(await begun.kill(), true)
    for (const handle of [begun, again]) {
      const error = await handle.wait().catch((error) => error)
      assert.ok(error instanceof CommandExitError)
      assert.equal(error.exitCode, -1)
      assert.equal(error.error, 'signal: killed')
    }
    assert.equal(await commands.kill(begun.pid), false)
    assert.equal(await commands.kill(999999), false)
    await assert.rejects(commands.connect(999999), NotFoundError)
  },
  async 'a command outlives the client that started it'() {
    const begun = await commands.run('sleep 200', { background: true })
    await begun.disconnect()
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.ok((await commands.list()).some(({ pid }) => pid === begun.pid))
    assert.equal(await commands.kill(begun.pid), true)
  },
  async 'a command reads its input in order until it is closed'() {
    const begun = await commands.run('cat', { background: true, stdin: true })
    let sent = ''
    for (let count = 0; count < 20; count += 1) {
      await commands.sendStdin(begun.pid, `line ${count} é\n`)
      sent += `line ${count} é\n`
    }
    await commands.closeStdin(begun.pid)
    assert.equal((await begun.wait()).stdout, sent)
  },
  async 'much output arrives whole'() {
    const result = await commands.run('head -c 3000000 /dev/zero | tr "\\0" x')
    assert.equal(result.stdout.length, 3_000_000)
  },
  async 'a server in the background does not hold up its shell'() {
    const result = await commands.run('sleep 100 & echo started')
    assert.equal(result.stdout, 'started\n')
  },
  async 'a terminal echoes, resizes and ends'() {
    let seen = ''
    const decoder = new TextDecoder()
    const terminal = await pty.create({
      cols: 90,
      rows: 20,
      onData: (data) => {
        seen += decoder.decode(data)
      },
    })
    await pty.resize(terminal.pid, { cols: 101, rows: 31 })
    await pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; echo "T"ERM=$TERM; exit 4\n'))
    const error = await terminal.wait().catch((error) => error)
    assert.equal(error.exitCode, 4)
    assert.match(seen, /31 101/)
    assert.match(seen, /TERM=xterm-256color/)
  },
  async 'files are written and read in every format'() {
    const info = await files.write('dir/a b.txt', 'héllo')
    assert.equal(info.path, `${home}/dir/a b.txt`)
    assert.equal(info.name, 'a b.txt')
    assert.equal(await files.read('dir/a b.txt'), 'héllo')
    assert.deepEqual([...(await files.read('dir/a b.txt', { format: 'bytes' }))], [...Buffer.from('héllo')])
    assert.equal(await (await files.read('dir/a b.txt', { format: 'blob' })).text(), 'héllo')
    const stream = await files.read('dir/a b.txt', { format: 'stream' })
    assert.equal(await new Response(stream).text(), 'héllo')
    await files.write('empty', '')
    assert.equal(await files.read('empty'), '')
    await files.write('bytes', new Uint8Array([0, 255, 10]).buffer)
    assert.deepEqual([...(await files.read('bytes', { format: 'bytes' }))], [0, 255, 10])
    assert.equal((await commands.run(`stat -c '%U %a' "dir/a b.txt"`)).stdout, 'user 644\n')
  },
  async 'many files are written at once'() {
    const list = ['m/1', 'm/2', `${home}/m/"3"\\ é`].map((path, index) => ({ path, data: `${index}` }))
    const written = await files.write(list)
    assert.deepEqual(
      written.map(({ path }) => path),
      [`${home}/m/1`, `${home}/m/2`, `${home}/m/"3"\\ é`],
    )
    assert.equal(await files.read('m/2'), '1')
  },
  async 'an existing file keeps its mode, and a symlink is followed'() {
    await commands.run('echo old-long-content > kept; chmod 700 kept; ln -s kept link')
    await files.write('link', 'new')
    assert.equal((await commands.run(`cat kept; stat -c ' %a' kept; readlink link`)).stdout, 'new 700\nkept\n')
  },
  async 'files are listed, described, renamed and removed'() {
    await commands.run(
      'mkdir -p l/sub; echo 12345 > l/f; echo x > l/sub/g; ln -s /etc/hostname l/s; ln -s nowhere l/broken',
    )
    const entries = await files.list('l', { depth: 2 })
    assert.deepEqual(entries.map(({ name, type }) => [name, type]).sort(), [
      ['f', FileType.FILE],
      ['g', FileType.FILE],
      ['s', FileType.FILE],
      ['sub', FileType.DIR],
    ])
    const info = await files.getInfo('l/f')
    assert.equal(info.size, 6)
    assert.equal(info.permissions, '-rw-r--r--')
    assert.equal(info.owner, 'user')
    assert.ok(info.modifiedTime instanceof Date)
    assert.equal((await files.getInfo('l/s')).symlinkTarget, '/etc/hostname')
    const moved = await files.rename('l/f', 'l/new/f2')
    assert.equal(moved.path, `${home}/l/new/f2`)
    assert.equal(await files.exists('l/f'), false)
    await files.remove('l')
    await files.remove('l')
    assert.equal(await files.exists('l'), false)
    await assert.rejects(files.read('l/f'), FileNotFoundError)
    await assert.rejects(files.list('l'), FileNotFoundError)
  },
  async 'a directory is made once'() {
    assert.equal(await files.makeDir('made/deep'), true)
    assert.equal(await files.makeDir('made/deep'), false)
    await files.write('made/file', '')
    await assert.rejects(files.makeDir('made/file'))
  },
  async 'a watch reports changes'() {
    await files.makeDir('watched')
    const seen = []
    const handle = await files.watchDir('watched', (event) => void seen.push(`${event.type} ${event.name}`), {
      recursive: true,
    })
    await files.write('watched/new/f', 'x')
    await files.rename('watched/new/f', 'watched/g')
    await files.remove('watched/g')
    for (let tries = 0; tries < 100 && !seen.includes('remove g'); tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 50))
    await handle.stop()
    for (const event of ['create new', 'create new/f', 'write new/f', 'rename new/f', 'create g', 'remove g'])
      assert.ok(seen.includes(event), `${event} is missing in ${seen.join(', ')}`)
    await assert.rejects(
      files.watchDir('missing', () => {}),
      FileNotFoundError,
    )
  },
  async 'signed addresses work until they expire, for what they sign'() {
    await files.write('signed.txt', 'secret')
    const url = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 60 })
    assert.equal(await (await fetch(url)).text(), 'secret')
    const other = new URL(url)
    other.searchParams.set('path', 'bytes')
    assert.equal((await fetch(other)).status, 401)
    const later = new URL(url)
    later.searchParams.set('signature_expiration', String(Math.floor(Date.now() / 1000) + 9999))
    assert.equal((await fetch(later)).status, 401)
    const form = new FormData()
    form.append('file', new Blob(['x']), 'signed.txt')
    assert.equal((await fetch(url, { method: 'POST', body: form })).status, 401)
    const expired = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: -10 })
    assert.equal((await fetch(expired)).status, 401)
    const upload = await sandbox.uploadUrl('signed.txt', { useSignatureExpiration: 60 })
    const answer = await fetch(upload, { method: 'POST', body: form })
    assert.equal(answer.status, 200)
    assert.equal(await files.read('signed.txt'), 'x')
  },
  async 'metadata of a file is kept with it'() {
    await files.write('described', 'x', { metadata: { author: 'me', 'a-b': 'c d' } })
    assert.deepEqual((await files.getInfo('described')).metadata, { author: 'me', 'a-b': 'c d' })
    await files.rename('described', 'described2')
    assert.deepEqual((await files.getInfo('described2')).metadata, { author: 'me', 'a-b': 'c d' })
  },
  async 'the sandbox runs'() {
    assert.equal(await sandbox.isRunning(), true)
  },
}

for (const [name, check] of Object.entries(checks)) {
  try {
    await check()
    console.log(JSON.stringify({ name, error: null }))
  } catch (error) {
    console.log(
      JSON.stringify({ name, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    )
  }
}
process.exit(0)
