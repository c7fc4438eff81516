// Preloaded into a program. At its end it writes the loaded files and Node modules to LOADED_FILE.
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
