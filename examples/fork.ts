// Three attempts at once: a runtime in the middle of its work is forked, each child tries another fix, and the one whose tests pass is kept.
//
//   npx node examples/fork.ts
import { Holt } from '@holt/sdk'

const slug = `
import re

def slug(title):
    return re.sub(r"[^a-z0-9]", "-", title.lower())
`
const tests = `
from slug import slug

assert slug("Hello World") == "hello-world"
assert slug("  Hello,   World! ") == "hello-world", slug("  Hello,   World! ")
`
const fixes = [
  ['[^a-z0-9]', '[^a-z0-9]+'],
  ['title.lower()', 'title.strip().lower()'],
  ['re.sub(r"[^a-z0-9]", "-", title.lower())', 're.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")'],
] as const

const holt = new Holt() // HOLT_URL and HOLT_API_KEY, else what \`holt up\` left on this machine
await using runtime = await holt.runtimes.create()
await runtime.files.write('/workspace/slug.py', slug)
await runtime.files.write('/workspace/tests.py', tests)

// What was set up once, files, processes and what they have in memory, is there in every child.
const model = await runtime.commands.start(['python', '-c', 'import time; answer = 42; time.sleep(3600)'])
await using fork = await runtime.fork({ count: fixes.length })
for (const error of fork.errors) console.log('a child could not be made:', error.message)

const attempts = fork.runtimes.map(async (child, index) => {
  const [pattern = '', replacement = ''] = fixes[index] ?? []
  await child.files.replace({ path: '/workspace/slug.py', pattern, replacement, regex: false })
  const { exit_code, stderr } = await child.commands.run(['python', 'tests.py'])
  const { state } = await child.commands.get(model.command_id)
  console.log(
    `fix ${index + 1}:`,
    exit_code === 0 ? 'passes' : stderr.trim().split('\n').at(-1),
    `(its process is ${state})`,
  )
  return { child, passes: exit_code === 0 }
})
const winner = (await Promise.all(attempts)).find(({ passes }) => passes)
if (winner === undefined) throw new Error('no fix passes')

// A snapshot outlives the runtimes: any number of others can begin with it, today or tomorrow.
const snapshot = await winner.child.snapshot({ kind: 'filesystem' })
console.log('kept:', snapshot.snapshot_id)
await holt.snapshots.delete(snapshot.snapshot_id)
