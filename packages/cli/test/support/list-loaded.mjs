// Preloaded into a program: writes to LOADED_FILE, when it ends, which files it has loaded, and which modules of Node.
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const files = []
registerHooks({
  load(url, context, nextLoad) {
    if (url.startsWith('file:')) files.push(url)
    return nextLoad(url, context)
  },
})
process.on('exit', () =>
  writeFileSync(process.env.LOADED_FILE, JSON.stringify({ files, builtins: process.moduleLoadList })),
)
