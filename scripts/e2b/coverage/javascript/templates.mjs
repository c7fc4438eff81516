// Templates: each step of a builder, in builds whose sandboxes are looked into.
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { check, finish, sdk, until } from './recorder.mjs'

const {
  Sandbox,
  Template,
  LogEntry,
  BuildError,
  waitForFile,
  waitForPort,
  waitForProcess,
  waitForTimeout,
  waitForURL,
} = sdk
const unique = crypto.randomUUID().slice(0, 8)
const nameOf = (kind) => `coverage-js-${kind}-${unique}`
const fileContextPath = `context-${unique}`
await mkdir(`${fileContextPath}/app/sub`, { recursive: true })
for (const [path, text] of [
  ['app/a.txt', 'a'],
  ['app/sub/b.py', 'b'],
  ['one.txt', 'one'],
  ['two.txt', 'two'],
])
  await writeFile(`${fileContextPath}/${path}`, text)

/** Builds a template, and returns what a command prints in a sandbox of it. */
async function built(kind, template, line, options = {}) {
  await Template.build(template, nameOf(kind), options)
  return printed(nameOf(kind), line)
}

async function printed(name, line) {
  const sandbox = await Sandbox.create(name)
  try {
    return (await sandbox.commands.run(line)).stdout
  } finally {
    await sandbox.kill()
  }
}

await check(
  'the steps of a builder do what they say',
  {
    works: [
      'TemplateBase.build',
      'TemplateBase#fromBaseImage',
      'TemplateBase#copy',
      'TemplateBase#copyItems',
      'TemplateBase#makeDir',
      'TemplateBase#makeSymlink',
      'TemplateBase#rename',
      'TemplateBase#remove',
      'TemplateBase#setEnvs',
      'TemplateBase#setWorkdir',
      'TemplateBase#setUser',
      'TemplateBase#runCmd',
      'TemplateBase#gitClone',
      'TemplateBase#skipCache',
      'LogEntry#toString',
      'LogEntryStart#toString',
      'LogEntryEnd#toString',
      'defaultBuildLogger',
    ],
  },
  async () => {
    const template = Template({ fileContextPath })
      .fromBaseImage()
      .copy('app', '/srv/app', { user: 'root', mode: 0o755 })
      .copyItems([
        { src: 'one.txt', dest: 'items/' },
        { src: ['two.txt'], dest: '/srv/' },
      ])
      .makeDir(['made/a', 'made/b'], { mode: 0o700 })
      .makeSymlink('/srv/two.txt', 'link')
      .rename('items/one.txt', 'items/renamed.txt')
      .remove('made/b', { recursive: true, force: true })
      .setEnvs({ GREETING: 'hello' })
      .setUser('root')
      .runCmd([
        'cd /srv && git init -q -b trunk source && cd source && git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m first',
        'chmod -R a+rX /srv/source',
      ])
      .setUser('user')
      .gitClone('file:///srv/source', 'cloned', { branch: 'trunk', depth: 1 })
      .skipCache()
      .setWorkdir('/home/user/work')
      .runCmd('echo "$GREETING in $PWD as $(id -un)" >said')
    const logs = []
    const write = sdk.defaultBuildLogger({ minLevel: 'error' })
    const onBuildLogs = (entry) => {
      write(entry)
      logs.push(entry)
    }
    const seen = await built(
      'steps',
      template,
      'cat said; echo $GREETING; cd ~; stat -c "%U %a" /srv/app/sub/b.py made/a; cat items/renamed.txt link; ls made; git -C cloned log --format=%s; pwd',
      { onBuildLogs, cpuCount: 1, memoryMB: 512 },
    )
    assert.equal(seen, 'hello in /home/user/work as user\nhello\nroot 755\nuser 700\nonetwoa\nfirst\n/home/user\n')
    for (const kind of [sdk.LogEntryStart, sdk.LogEntryEnd])
      assert.ok(logs.some((entry) => entry instanceof kind && String(entry).length > 0))
    assert.ok(
      logs.some((entry) => entry instanceof LogEntry && / \[info\] .*git clone/i.test(entry.toString())),
      logs.join('\n'),
    )
  },
)

await check(
  'a package is installed by each tool',
  {
    works: [
      'TemplateBase#pipInstall',
      'TemplateBase#npmInstall',
      'TemplateBase#bunInstall',
      'TemplateBase#aptInstall',
      'TemplateBase#fromTemplate',
    ],
  },
  async () => {
    // The indexes of packages may be out of reach: programs in the place of the tools say how they are called.
    const say = (tool) =>
      `at=$(command -v ${tool} || echo /usr/local/bin/${tool}); printf '#!/bin/sh\\necho "${tool} as $(id -un): $*" >>/srv/called\\n' >$at; chmod 755 $at`
    const template = Template()
      .fromTemplate('base')
      .runCmd([...['pip', 'npm', 'bun', 'apt-get'].map(say), 'touch /srv/called; chmod 666 /srv/called'], {
        user: 'root',
      })
      .pipInstall(['six'])
      .npmInstall(['left'], { g: true })
      .bunInstall(['left'], { dev: true })
      .aptInstall(['some', 'more'], { noInstallRecommends: true, fixMissing: true })
    const called = await built('installs', template, 'cat /srv/called')
    const wanted = [
      /pip as root: install six$/,
      /npm as root: install -g left$/,
      /bun as user: install --dev left$/,
      /apt-get as root: update$/,
      /apt-get as root: install -y --no-install-recommends .*some more$/,
    ]
    for (const [index, line] of called.trim().split('\n').entries()) assert.match(line, wanted[index])
    assert.equal(called.trim().split('\n').length, wanted.length)
  },
)

await check(
  'a server runs when a sandbox of its template starts',
  {
    works: [
      'TemplateBase#setStartCmd',
      'TemplateBase#setReadyCmd',
      'ReadyCmd#getCmd',
      'waitForFile',
      'waitForPort',
      'waitForProcess',
      'waitForTimeout',
      'waitForURL',
    ],
  },
  async () => {
    const ready = [
      waitForPort(8000),
      waitForURL('http://127.0.0.1:8000/index.html'),
      waitForProcess('python3'),
      waitForFile('/home/user/index.html'),
      waitForTimeout(1000),
    ]
    const started = Template()
      .fromBaseImage()
      .runCmd('echo served >index.html')
      .setStartCmd('python3 -m http.server 8000', ready.map((one) => one.getCmd()).join(' && '))
    assert.equal(await built('started', started, 'curl -s 127.0.0.1:8000/index.html'), 'served\n')
    const now = Template().fromBaseImage().runCmd('touch made').setReadyCmd(waitForFile('/home/user/made'))
    assert.equal(await built('ready', now, 'ls'), 'made\n')
  },
)

const images = {
  debian: 'fromDebianImage',
  ubuntu: 'fromUbuntuImage',
  fedora: 'fromFedoraImage',
  alpine: 'fromAlpineImage',
  archlinux: 'fromArchImage',
  python: 'fromPythonImage',
  node: 'fromNodeImage',
  bun: 'fromBunImage',
}
await check(
  'a template begins with each image',
  {
    works: [
      ...Object.values(images).map((method) => `TemplateBase#${method}`),
      'TemplateBase.buildInBackground',
      'TemplateBase.getBuildStatus',
    ],
  },
  async () => {
    const builds = []
    for (const [image, method] of Object.entries(images))
      builds.push([
        image,
        await Template.buildInBackground(
          Template()[method]('coverage').runCmd('echo $FROM_IMAGE >said'),
          nameOf(image),
        ),
      ])
    for (const [image, info] of builds) {
      const statusNow = () => Template.getBuildStatus(info, { logsOffset: 0 })
      await until(async () => !['building', 'waiting'].includes((await statusNow()).status), 600)
      const status = await statusNow()
      assert.equal(status.status, 'ready', `${image}: ${JSON.stringify(status.reason)}`)
      assert.ok(status.logEntries.length > 0)
      assert.match(await printed(nameOf(image), 'cat said'), new RegExp(`${image}\n$`))
    }
  },
)

await check(
  'an image may need a login',
  { works: ['TemplateBase#fromImage', 'TemplateBase#fromGCPRegistry'] },
  async () => {
    const image = process.env.COVERAGE_PRIVATE_IMAGE
    const [username, password] = process.env.COVERAGE_LOGIN.split(':')
    const say = 'echo $FROM_IMAGE >said'
    assert.equal(
      await built('login', Template().fromImage(image, { username, password }).runCmd(say), 'cat said'),
      'private\n',
    )
    const google = Template().fromGCPRegistry(image, {
      serviceAccountJSON: JSON.parse(process.env.COVERAGE_GOOGLE_KEY),
    })
    assert.equal(await built('google', google.runCmd(say), 'cat said'), 'private\n')
    await assert.rejects(
      built('refused', Template().fromImage(image, { username, password: 'wrong' }).runCmd(say), 'true'),
      BuildError,
    )
  },
)

await check(
  'a login of AWS is refused',
  { absent: { 'TemplateBase#fromAWSRegistry': 'a build with a login of AWS is refused (400)' } },
  async () => {
    const template = Template().fromAWSRegistry('1.dkr.ecr.example.com/a', {
      accessKeyId: 'a',
      secretAccessKey: 'b',
      region: 'c',
    })
    await assert.rejects(built('aws', template, 'true'), /400/)
  },
)

await check(
  'a Dockerfile becomes a template, and a template a Dockerfile',
  { works: ['TemplateBase#fromDockerfile', 'TemplateBase.toDockerfile', 'TemplateBase.toJSON'] },
  async () => {
    const dockerfile = 'FROM debian:coverage\nENV A=b\nWORKDIR /srv/work\nRUN echo "$A in $PWD" >said\n'
    const template = Template().fromDockerfile(dockerfile)
    assert.equal(await built('dockerfile', template, 'cat /srv/work/said'), 'b in /srv/work\n')
    const again = Template().fromDockerfile(Template.toDockerfile(template))
    assert.equal(await built('again', again, 'cat /srv/work/said'), 'b in /srv/work\n')
    assert.equal(JSON.parse(await Template.toJSON(template)).fromImage, 'debian:coverage')
  },
)

await check(
  'names and tags of templates are found and changed',
  {
    works: [
      'TemplateBase.exists',
      'TemplateBase.aliasExists',
      'TemplateBase.assignTags',
      'TemplateBase.getTags',
      'TemplateBase.removeTags',
      'TemplateBase.build',
    ],
  },
  async () => {
    const name = nameOf('tags')
    assert.equal(await Template.exists(name), false)
    const info = await Template.build(Template().fromBaseImage().runCmd('echo one >said'), `${name}:v1`, {
      tags: ['stable'],
    })
    assert.deepEqual([await Template.exists(name), await Template.aliasExists(name)], [true, true])
    assert.equal((await Template.assignTags(`${name}:v1`, ['production'])).buildId, info.buildId)
    const tagsOf = async () => (await Template.getTags(name)).map(({ tag }) => tag).sort()
    assert.deepEqual(await tagsOf(), ['production', 'stable', 'v1'])
    assert.equal(await printed(`${name}:production`, 'cat said'), 'one\n')
    await Template.removeTags(name, 'production')
    assert.deepEqual(await tagsOf(), ['stable', 'v1'])
    await assert.rejects(Sandbox.create(`${name}:production`), /404/)
  },
)

const own = (name) => `Holt brings no template \`${name}\`; on one of your own with this name the step runs`
await check(
  'steps for templates that are not here run on one of that name',
  {
    differs: {
      'TemplateBase#addMcpServer': own('mcp-gateway'),
      'TemplateBase#betaDevContainerPrebuild': own('devcontainer'),
      'TemplateBase#betaSetDevContainerStart': own('devcontainer'),
    },
  },
  async () => {
    await assert.rejects(built('mcp', Template().fromTemplate('mcp-gateway').addMcpServer('exa'), 'true'), /404/)
    const program = (name) =>
      Template()
        .fromBaseImage()
        .runCmd(
          `printf '#!/bin/sh\\necho "$*" >>/srv/called\\n' >/usr/local/bin/${name}; chmod 755 /usr/local/bin/${name}; touch /devcontainer.up`,
          { user: 'root' },
        )
    await Template.build(program('mcp-gateway'), 'mcp-gateway')
    await Template.build(program('devcontainer'), 'devcontainer')
    try {
      assert.equal(
        await built('mcp', Template().fromTemplate('mcp-gateway').addMcpServer(['exa', 'time']), 'cat /srv/called'),
        'pull exa time\n',
      )
      const inside = Template()
        .fromTemplate('devcontainer')
        .betaDevContainerPrebuild('/srv')
        .betaSetDevContainerStart('/srv')
      assert.match(
        await built('dev', inside, 'cat /srv/called'),
        /build --workspace-folder \/srv\nup --workspace-folder \/srv\n/,
      )
    } finally {
      for (const name of ['mcp-gateway', 'devcontainer']) await remove(name)
    }
  },
)

for (const kind of [
  'steps',
  'installs',
  'started',
  'ready',
  ...Object.keys(images),
  'login',
  'google',
  'refused',
  'aws',
  'dockerfile',
  'again',
  'tags',
  'mcp',
  'dev',
])
  await remove(nameOf(kind))
await finish()

/** Removes a template, for which the SDK has no method. */
async function remove(name) {
  const headers = { 'X-API-KEY': process.env.E2B_API_KEY }
  await fetch(`https://api.${process.env.E2B_DOMAIN}/templates/${name}`, { method: 'DELETE', headers })
}
