// Answers what the TypeScript client makes of rules and contexts: a JSON request on stdin, a JSON
// answer on stdout.
import { writeFileSync } from 'node:fs'
import { readContextTree } from '../../packages/sdk/src/template/context-tree.ts'
import { parseIgnoreFile } from '../../packages/sdk/src/template/ignore-file.ts'
import { archiveOf } from '../../packages/sdk/src/tree/local-archive.ts'

const request = JSON.parse((await process.stdin.toArray()).join(''))
const answer = request.root === undefined ? request.cases.map(ignored) : await archive(request)
process.stdout.write(JSON.stringify(answer))

/** Returns whether a path is ignored, or null for rules that are refused. */
function ignored([text, path]) {
  try {
    return parseIgnoreFile(text, '.dockerignore').ignores(path)
  } catch (error) {
    if (error.code !== 'invalid_request') throw error
    return null
  }
}

async function archive({ root, rules, only, tar }) {
  const { entries, skipped } = await readContextTree(root, {
    ...(rules === null ? {} : { ignore: parseIgnoreFile(rules, '.dockerignore') }),
    ...(only === null ? {} : { only }),
  })
  const parts = []
  for await (const part of archiveOf(root, entries, () => undefined)) parts.push(part)
  writeFileSync(tar, Buffer.concat(parts))
  return { skipped }
}
