import { shareOf } from './draw-share.ts'

/** The browser tests of some pages of the console. A short run draws a third of them. */
export const drawnConsoleFiles: readonly string[] = [
  ...['code-tab', 'commands', 'file-editor', 'files', 'overview-tab', 'resources-activity', 'resources-network'],
  ...['resources-service', 'runtime-tabs', 'templates', 'terminal'],
].map((name) => `packages/console/test/${name}.test.ts`)

/** Returns the browser tests that this run leaves out. A long run leaves out none. */
export function consoleFilesLeftOut(): readonly string[] {
  const here = shareOf(drawnConsoleFiles, 1 / 3, 'browser tests of the console')
  return drawnConsoleFiles.filter((name) => !here.includes(name))
}
