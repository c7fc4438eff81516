import { shareOf } from './draw-share.ts'

/** The browser tests of the console of which a short run draws a third: each is about some pages. */
export const drawnConsoleFiles: readonly string[] = [
  ...['code-tab', 'commands', 'files', 'overview-tab', 'resources-activity', 'resources-network'],
  ...['resources-service', 'runtime-tabs', 'templates', 'terminal'],
].map((name) => `packages/console/test/${name}.test.ts`)

/** Returns the browser tests of the console that this run leaves out. A long run leaves out none. */
export function consoleFilesLeftOut(): readonly string[] {
  const here = shareOf(drawnConsoleFiles, 1 / 3, 'browser tests of the console')
  return drawnConsoleFiles.filter((name) => !here.includes(name))
}
